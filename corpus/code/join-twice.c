// A thread is joined twice.
// fencepost: assertions violated
#include <pthread.h>

void *t1(void *unused) {
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    pthread_join(a, 0);
    pthread_join(a, 0);
    return 0;
}
// `volatile` is not atomic.
// fencepost: races violated
#include <pthread.h>

volatile int v;
void *t1(void *unused) {
    v = 1;
    return 0;
}
void *t2(void *unused) {
    int r = v;
    (void)r;
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, t1, 0);
    pthread_create(&b, 0, t2, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

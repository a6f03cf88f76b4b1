// A function with the attribute `destructor` runs after `main`.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>

int d;
__attribute__((destructor)) void h(void) {
    assert(d == 0);
}
void *t1(void *unused) {
    d = 1;
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    pthread_join(a, 0);
    return 0;
}
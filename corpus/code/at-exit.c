// What runs at exit sees what the threads have done.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int d;
void h(void) {
    assert(d == 0);
}
void *t1(void *unused) {
    d = 1;
    return 0;
}
int main(void) {
    atexit(h);
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    pthread_join(a, 0);
    return 0;
}
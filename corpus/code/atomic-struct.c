// A struct of two `int`s that is read and written as one.
// fencepost: robustness holds, assertions holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct P {
    int a, b;
};
_Atomic struct P g;
void *t1(void *unused) {
    struct P x = {1, 1};
    atomic_store(&g, x);
    return 0;
}
void *t2(void *unused) {
    struct P y = atomic_load(&g);
    assert(y.a == y.b);
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

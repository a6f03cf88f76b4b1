// What the loop saw is stale when the other location is looked at.
// fencepost: robustness violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
void *t1(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return 0;
}
void *t2(void *unused) {
    int seen = 0;
    while (1) {
        int b = atomic_load_explicit(&y, memory_order_relaxed);
        if (b) {
            int a = atomic_load_explicit(&x, memory_order_relaxed);
            if (!a)
                seen = 1;
            break;
        }
    }
    assert(!seen);
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

// A compare-and-exchange that fails acquires nothing if its failure order is relaxed.
// fencepost: races violated
#include <pthread.h>
#include <stdatomic.h>

int d;
atomic_int f;
void *t1(void *unused) {
    d = 1;
    atomic_store_explicit(&f, 1, memory_order_release);
    return 0;
}
void *t2(void *unused) {
    int e = 0;
    if (!atomic_compare_exchange_strong_explicit(&f, &e, 0, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        int r = d;
        (void)r;
    }
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

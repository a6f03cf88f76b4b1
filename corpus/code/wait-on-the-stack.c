// Threads that wait put a flag on their stacks, again and again, and are told by it that it is their turn. Whoever tells
// them must not touch the flag afterwards.
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(atomic_int *) waiter;

static void wait(void) {
    atomic_int flag = 0;
    atomic_store_explicit(&waiter, &flag, memory_order_release);
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        ;
}

static void *tell(void *unused) {
    for (int k = 0; k < 2; k++) {
        atomic_int *flag;
        while (!(flag = atomic_exchange_explicit(&waiter, 0, memory_order_acquire)))
            ;
        atomic_store_explicit(flag, 1, memory_order_release);
#ifdef BROKEN
        atomic_store_explicit(flag, 1, memory_order_release);
#endif
    }
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, tell, 0);
    for (int k = 0; k < 2; k++)
        wait();
    pthread_join(t, 0);
    return 0;
}

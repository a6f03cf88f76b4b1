// An owner reads its mark plainly while another thread tries in vain to take it. A compare-and-exchange that fails is a
// read, also if its thread has another one that succeeds.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>
#include <stdatomic.h>

enum { NOBODY, FIRST, SECOND };

static atomic_int owner = FIRST, done;

static void *other(void *unused) {
    int expected = NOBODY;
    atomic_compare_exchange_strong_explicit(&owner, &expected, SECOND, memory_order_relaxed,
                                            memory_order_relaxed);
#ifndef BROKEN
    while (!atomic_load_explicit(&done, memory_order_acquire))
        ;
#endif
    expected = FIRST;
    atomic_compare_exchange_strong_explicit(&owner, &expected, SECOND, memory_order_acquire,
                                            memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    int mine = *(int *)&owner;
    atomic_store_explicit(&done, 1, memory_order_release);
    pthread_join(t, 0);
    return mine != FIRST;
}

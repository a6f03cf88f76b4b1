// A weak compare-and-exchange of 16 bytes may fail for no reason as well, also one that expects all bits to be set.
// fencepost -mcx16: assertions holds
// fencepost -mcx16 -DSTART=-1: assertions holds
// fencepost -mcx16 -DBROKEN: assertions violated
// fencepost -mcx16 -DBROKEN -DSTART=-1: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef START
#define START 0
#endif

_Atomic __int128 x = START;

void *change(void *unused) {
    __int128 old = START;
#ifdef BROKEN
    assert(atomic_compare_exchange_weak(&x, &old, 1));
#else
    while (!atomic_compare_exchange_weak(&x, &old, 1))
        assert(old == START || old == 1);
#endif
    return 0;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, change, 0);
    pthread_join(t, 0);
#ifndef BROKEN
    assert(x == 1);
#endif
    return 0;
}

// A spin lock by somebody who wanted to be on the safe side: everything is seq_cst. Of the five orders, two acquires and
// a release are needed, and the rest may be relaxed:
//
//     fencepost orders examples/real/careful_lock.c
//     fencepost fix --weaken --diff examples/real/careful_lock.c
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int locked;
static atomic_int failures;
static int balance;

static void lock(void) {
    while (atomic_exchange(&locked, 1) != 0) {
        while (atomic_load(&locked) != 0) {
        }
    }
}

static bool try_lock(void) {
    int expected = 0;
    return atomic_compare_exchange_strong(&locked, &expected, 1);
}

static void unlock(void) {
    atomic_store(&locked, 0);
}

static void *deposit(void *unused) {
    lock();
    balance += 1;
    unlock();
    return unused;
}

static void *try_to_deposit(void *unused) {
    if (try_lock()) {
        balance += 1;
        unlock();
    } else {
        atomic_fetch_add(&failures, 1);
    }
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, deposit, 0);
    pthread_create(&two, 0, try_to_deposit, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    assert(balance == 1 || balance == 2);
    return 0;
}

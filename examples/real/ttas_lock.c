// A test-and-test-and-set lock that protects a counter.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define UNLOCK memory_order_relaxed // the next owner need not see what this one wrote
#else
#define UNLOCK memory_order_release
#endif

struct lock {
    atomic_int taken;
};

static void acquire(struct lock *lock) {
    for (;;) {
        while (atomic_load_explicit(&lock->taken, memory_order_relaxed))
            ;
        if (!atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire))
            return;
    }
}

static void release(struct lock *lock) {
    atomic_store_explicit(&lock->taken, 0, UNLOCK);
}

static struct lock lock;
static int counter;

static void *worker(void *unused) {
    for (int i = 0; i < 2; i++) {
        acquire(&lock);
        counter++;
        release(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(counter == 6);
}

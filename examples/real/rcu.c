// Read-copy-update by quiescent states: readers say when they hold nothing, and the writer frees what it replaced once
// each of them has said so, or is gone.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define QUIET memory_order_relaxed
#else
#define QUIET memory_order_release
#endif

#define READERS 2
#define GONE 2u

struct route {
    int from, to;
};

static _Atomic(struct route *) route;
static atomic_uint epoch;           // 1 once the route was replaced
static atomic_uint seen[READERS];   // the last epoch in which a reader held nothing

static struct route *make(int from, int to) {
    struct route *made = malloc(sizeof *made);
    made->from = from;
    made->to = to;
    return made;
}

static void *reader(void *arg) {
    atomic_uint *mine = arg;
    for (int round = 0; round < 2; round++) {
        struct route *now = atomic_load_explicit(&route, memory_order_acquire);
        assert(now->to == now->from + 1);
        // Nothing is held here.
        atomic_store_explicit(mine, atomic_load_explicit(&epoch, memory_order_acquire), QUIET);
    }
    atomic_store_explicit(mine, GONE, QUIET);
    return NULL;
}

static void *writer(void *unused) {
    struct route *old = atomic_exchange_explicit(&route, make(2, 3), memory_order_acq_rel);
    atomic_store_explicit(&epoch, 1, memory_order_release);
    for (int k = 0; k < READERS; k++)
        while (atomic_load_explicit(&seen[k], memory_order_acquire) == 0)
            ;
    free(old);
    return NULL;
}

int main(void) {
    pthread_t threads[READERS + 1];
    atomic_init(&route, make(1, 2));
    for (int k = 0; k < READERS; k++)
        pthread_create(&threads[k], NULL, reader, &seen[k]);
    pthread_create(&threads[READERS], NULL, writer, NULL);
    for (int k = 0; k <= READERS; k++)
        pthread_join(threads[k], NULL);
    free(atomic_load(&route));
}

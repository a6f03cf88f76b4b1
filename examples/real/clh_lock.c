// The queue lock of Craig, Landin and Hagersten: a thread waits on the node of the one before it, and takes that node
// along when it leaves.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef BROKEN
#define UNLOCK memory_order_relaxed
#else
#define UNLOCK memory_order_release
#endif

#define THREADS 3

struct node {
    atomic_bool taken;
};

struct lock {
    _Atomic(struct node *) tail;
};

struct place {
    struct node *mine, *before;
};

static struct lock lock;
static int counter;

static void acquire(struct lock *lock, struct place *place) {
    atomic_store_explicit(&place->mine->taken, true, memory_order_relaxed);
    place->before = atomic_exchange_explicit(&lock->tail, place->mine, memory_order_acq_rel);
    while (atomic_load_explicit(&place->before->taken, memory_order_acquire))
        ;
}

static void release(struct place *place) {
    struct node *mine = place->mine;
    place->mine = place->before;
    atomic_store_explicit(&mine->taken, false, UNLOCK);
}

static void *worker(void *unused) {
    struct place place = {.mine = malloc(sizeof(struct node))};
    acquire(&lock, &place);
    counter++;
    release(&place);
    free(place.mine);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    struct node *first = malloc(sizeof *first);
    atomic_init(&first->taken, false);
    atomic_init(&lock.tail, first);
    for (int k = 0; k < THREADS; k++)
        pthread_create(&threads[k], NULL, worker, NULL);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    assert(counter == THREADS);
    free(atomic_load(&lock.tail));
}

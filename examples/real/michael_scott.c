// The queue of Michael and Scott over a pool of nodes. A link is an index with a tag beside it, so that a node that comes
// back is not mistaken for the one that was there before (ABA).
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

#define NODES 4

typedef uint64_t link_t; // tag in the upper half, node in the lower; node 0 is none

struct node {
    _Atomic(link_t) next;
    int value;
};

static struct node pool[NODES];
static _Atomic(link_t) head = 1, tail = 1;

static uint32_t node_of(link_t link) { return (uint32_t)link; }

static link_t link_to(uint32_t node, link_t old) { return (old >> 32) + 1 << 32 | node; }

static bool swing(_Atomic(link_t) *link, link_t old, uint32_t node) {
    return atomic_compare_exchange_strong_explicit(link, &old, link_to(node, old), PUBLISH, memory_order_relaxed);
}

static void put(uint32_t node, int value) {
    pool[node].value = value;
    for (;;) {
        link_t last = atomic_load_explicit(&tail, memory_order_acquire);
        link_t next = atomic_load_explicit(&pool[node_of(last)].next, memory_order_acquire);
        if (node_of(next)) {
            swing(&tail, last, node_of(next)); // help the one who was slow
        } else if (swing(&pool[node_of(last)].next, next, node)) {
            swing(&tail, last, node);
            return;
        }
    }
}

static bool get(int *value) {
    for (;;) {
        link_t first = atomic_load_explicit(&head, memory_order_acquire);
        link_t last = atomic_load_explicit(&tail, memory_order_acquire);
        link_t next = atomic_load_explicit(&pool[node_of(first)].next, memory_order_acquire);
        if (node_of(first) == node_of(last)) {
            if (!node_of(next))
                return false;
            swing(&tail, last, node_of(next));
        } else {
            int found = pool[node_of(next)].value;
            if (swing(&head, first, node_of(next))) {
                *value = found;
                return true;
            }
        }
    }
}

static void *producer(void *arg) {
    uint32_t node = (uint32_t)(uintptr_t)arg;
    put(node, 10 * (int)node);
    return NULL;
}

static void *consumer(void *unused) {
    int value;
    if (get(&value))
        assert(value == 20 || value == 30);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, producer, (void *)2);
    pthread_create(&b, NULL, producer, (void *)3);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
}

// Treiber's stack over a pool of nodes, with a tag beside the index so that a node that comes back is not mistaken for
// the one that was there before (ABA).
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef BROKEN
#define PUSH memory_order_relaxed
#else
#define PUSH memory_order_release
#endif

#define NODES 3

struct node {
    int value;
    uint32_t next;
};

static struct node pool[NODES + 1]; // number 0 stands for no node
static _Atomic(uint64_t) head;      // tag in the upper half, node in the lower

static void push(uint32_t node) {
    uint64_t old = atomic_load_explicit(&head, memory_order_relaxed), new;
    do {
        pool[node].next = (uint32_t)old;
        new = (old >> 32) + 1 << 32 | node;
    } while (!atomic_compare_exchange_strong_explicit(&head, &old, new, PUSH, memory_order_relaxed));
}

static uint32_t take_all(void) {
    uint64_t old = atomic_load_explicit(&head, memory_order_relaxed), new;
    do {
        new = (old >> 32) + 1 << 32;
    } while (!atomic_compare_exchange_strong_explicit(&head, &old, new, memory_order_acquire,
                                                      memory_order_relaxed));
    return (uint32_t)old;
}

static void *pusher(void *arg) {
    uint32_t node = (uint32_t)(uintptr_t)arg;
    pool[node].value = 10 * node;
    push(node);
    return NULL;
}

static void *popper(void *unused) {
    for (uint32_t node = take_all(); node; node = pool[node].next)
        assert(pool[node].value == 10 * (int)node);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, pusher, (void *)1);
    pthread_create(&b, NULL, pusher, (void *)2);
    pthread_create(&c, NULL, popper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
}

// Objects of two types have the same size, so one may get the block that the other had: bytes that are atomic in one of
// them and smaller in the other are no conflict.
// fencepost: races holds, assertions holds
// fencepost -DTOO_EARLY: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct item {
    long key;
    char label;
};

struct node {
    struct item *item;
    _Atomic(struct node *) next;
};

static _Atomic(struct node *) top;

static void push(long key) {
    struct item *item = malloc(sizeof *item);
    item->key = key;
    item->label = 'a';
    struct node *node = malloc(sizeof *node);
    node->item = item;
    struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
    do atomic_store_explicit(&node->next, old, memory_order_relaxed);
    while (!atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_release, memory_order_relaxed));
#ifdef TOO_EARLY
    item->label = 'b';
#endif
}

static void take_all(void) {
    struct node *node = atomic_exchange_explicit(&top, NULL, memory_order_acquire);
    while (node) {
        struct node *next = atomic_load_explicit(&node->next, memory_order_relaxed);
        assert(node->item->label == 'a' && node->item->key > 0);
        free(node->item);
        free(node);
        node = next;
    }
}

static void *other(void *unused) {
    push(1);
    take_all();
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    push(2);
    take_all();
    push(3);
    take_all();
    pthread_join(thread, NULL);
    assert(!top);
}

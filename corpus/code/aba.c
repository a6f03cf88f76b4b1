// A stack whose nodes are allocated and freed. Readers register while they look into a node, and nobody frees a node
// meanwhile. But the address of a node that was freed can come back with the next node, so a pop that was interrupted
// takes the new node for the old one (ABA), and puts a node on top that is gone. A count of changes in the unused bits of
// the pointer tells them apart.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: assertions violated
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct node {
    struct node *next;
};

static atomic_uintptr_t top;
static atomic_int readers;

static struct node *pointer(uintptr_t word) {
    return (struct node *)(word & 0xffffffffffff);
}

static uintptr_t next_word(uintptr_t word, struct node *node) {
#ifdef BROKEN
    return (uintptr_t)node;
#else
    return (uintptr_t)node | ((word >> 48) + 1) << 48;
#endif
}

static struct node *pop(void) {
    readers++;
    uintptr_t old = top;
    struct node *node = pointer(old), *next = node ? node->next : 0;
    readers--;
    return node && atomic_compare_exchange_strong(&top, &old, next_word(old, next)) ? node : 0;
}

static void push(struct node *node) {
    uintptr_t old = top;
    node->next = pointer(old);
    atomic_compare_exchange_strong(&top, &old, next_word(old, node));
}

static void drop(struct node *node) {
    while (readers != 0)
        ;
    free(node);
}

static void *other(void *unused) {
    struct node *one = pop();
    if (!one)
        return unused;
    struct node *two = pop();
    drop(one);
    if (!two)
        return unused;
    drop(two);
    push(malloc(sizeof(struct node)));
    return unused;
}

int main(void) {
    pthread_t t;
    struct node *below = malloc(sizeof *below), *above = malloc(sizeof *above);
    below->next = 0;
    above->next = below;
    top = (uintptr_t)above;
    pthread_create(&t, 0, other, 0);
    pop();
    pthread_join(t, 0);
    pop();
    return 0;
}

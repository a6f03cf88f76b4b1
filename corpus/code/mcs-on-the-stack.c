// A queue lock for ever, with its nodes on the stack of whoever holds it.
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>
#include <stdatomic.h>

struct node {
    _Atomic(struct node *) next;
    atomic_int locked;
};

static _Atomic(struct node *) tail;
static int shared;

static void once(void) {
    struct node own;
    atomic_init(&own.next, 0);
    atomic_init(&own.locked, 1);
    struct node *before = atomic_exchange_explicit(&tail, &own, memory_order_acq_rel);
    if (before) {
        atomic_store_explicit(&before->next, &own, memory_order_release);
        while (atomic_load_explicit(&own.locked, memory_order_acquire))
            ;
    }
    shared = !shared;
    struct node *after = atomic_load_explicit(&own.next, memory_order_acquire);
    if (!after) {
        struct node *expected = &own;
        if (atomic_compare_exchange_strong_explicit(&tail, &expected, 0, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return;
#ifdef BROKEN
        return;
#endif
        while (!(after = atomic_load_explicit(&own.next, memory_order_acquire)))
            ;
    }
    atomic_store_explicit(&after->locked, 0, memory_order_release);
}

static void *work(void *unused) {
    for (;;)
        once();
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    work(0);
    return 0;
}

// The work-stealing deque of Chase and Lev with the fences of Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013), on an array
// that does not grow: the owner pushes and takes at the bottom, thieves steal from the top.
//
// As published it is not robust: a thief may lose a race that it lost already, by an old value of `top`. Nothing goes wrong
// by that, which `--require safe` proves; with two stores that release, it is robust as well.
//
// fencepost: robustness violated
// fencepost -DROBUST: robustness holds, assertions holds
// fencepost -DBROKEN: robustness violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define SIZE 4
#define EMPTY 0
#define LOST (-1)

#ifdef BROKEN
#define DECIDE memory_order_acq_rel
#else
#define DECIDE memory_order_seq_cst
#endif

#ifdef ROBUST
#define LOWER memory_order_release
#else
#define LOWER memory_order_relaxed
#endif

struct deque {
    atomic_long top, bottom;
    atomic_int items[SIZE];
};

static struct deque deque;
static atomic_int done[3];

static void push(struct deque *deque, int item) {
    long bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    long top = atomic_load_explicit(&deque->top, memory_order_acquire);
    assert(bottom - top < SIZE);
    atomic_store_explicit(&deque->items[bottom % SIZE], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_relaxed);
}

static int take(struct deque *deque) {
    long bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&deque->bottom, bottom, LOWER);
    atomic_thread_fence(DECIDE);
    long top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    int item = EMPTY;
    if (top <= bottom) {
        item = atomic_load_explicit(&deque->items[bottom % SIZE], memory_order_relaxed);
        if (top < bottom)
            return item;
        if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            item = EMPTY;
    }
    atomic_store_explicit(&deque->bottom, bottom + 1, LOWER);
    return item;
}

static int steal(struct deque *deque) {
    long top = atomic_load_explicit(&deque->top, memory_order_acquire);
    atomic_thread_fence(DECIDE);
    long bottom = atomic_load_explicit(&deque->bottom, memory_order_acquire);
    if (top >= bottom)
        return EMPTY;
    int item = atomic_load_explicit(&deque->items[top % SIZE], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return LOST;
    return item;
}

static void work(int item) {
    if (item > 0)
        assert(atomic_fetch_add_explicit(&done[item], 1, memory_order_relaxed) == 0); // nobody did it before
}

static void *thief(void *unused) {
    work(steal(&deque));
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, thief, NULL);
    pthread_create(&b, NULL, thief, NULL);
    push(&deque, 1);
    push(&deque, 2);
    work(take(&deque));
    work(take(&deque));
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

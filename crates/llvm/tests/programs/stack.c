#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int key;
    struct node *next;
};

static _Atomic(struct node *) top;
static struct { atomic_int pushed, failed; } counts;

static void push(int key) {
    struct node *n = malloc(sizeof *n);
    n->key = key;
    n->next = atomic_load_explicit(&top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&top, &n->next, n, memory_order_release,
                                                  memory_order_relaxed))
        atomic_fetch_add(&counts.failed, 1);
    atomic_fetch_add_explicit(&counts.pushed, 1, memory_order_acq_rel);
}

static void *run(void *argument) {
    push((int)(long)argument);
    atomic_thread_fence(memory_order_seq_cst);
    __asm__ volatile("" ::: "memory");
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&counts.pushed) != 2;
}

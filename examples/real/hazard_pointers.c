// A shared configuration that is read without a lock: readers announce what they look at (a hazard pointer), and who
// replaces it frees the old one when nobody looks at it any more.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: robustness violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define DECIDE memory_order_acq_rel // announcement and second look may change places
#else
#define DECIDE memory_order_seq_cst
#endif

#define READERS 2

struct config {
    int width, height;
};

static _Atomic(struct config *) current;
static _Atomic(struct config *) hazard[READERS];

static struct config *make(int size) {
    struct config *config = malloc(sizeof *config);
    config->width = size;
    config->height = 2 * size;
    return config;
}

static void *reader(void *arg) {
    _Atomic(struct config *) *mine = arg;
    struct config *config = atomic_load_explicit(&current, memory_order_relaxed), *again;
    for (;; config = again) {
        atomic_store_explicit(mine, config, memory_order_relaxed);
        atomic_thread_fence(DECIDE);
        again = atomic_load_explicit(&current, memory_order_acquire);
        if (again == config)
            break;
    }
    assert(config->height == 2 * config->width);
    atomic_store_explicit(mine, NULL, memory_order_release);
    return NULL;
}

static void *replacer(void *unused) {
    struct config *old = atomic_exchange_explicit(&current, make(2), memory_order_acq_rel);
    atomic_thread_fence(DECIDE);
    for (int k = 0; k < READERS; k++)
        while (atomic_load_explicit(&hazard[k], memory_order_acquire) == old)
            ;
    free(old);
    return NULL;
}

int main(void) {
    pthread_t threads[READERS + 1];
    atomic_init(&current, make(1));
    for (int k = 0; k < READERS; k++)
        pthread_create(&threads[k], NULL, reader, &hazard[k]);
    pthread_create(&threads[READERS], NULL, replacer, NULL);
    for (int k = 0; k <= READERS; k++)
        pthread_join(threads[k], NULL);
    free(atomic_load(&current));
}

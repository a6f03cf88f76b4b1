// A sense-reversing barrier: nobody reads what the others wrote before all have written.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifdef BROKEN
#define ARRIVE memory_order_relaxed
#else
#define ARRIVE memory_order_acq_rel
#endif

#define THREADS 2

static atomic_int missing = THREADS;
static atomic_bool sense;
static int written[THREADS];

static void wait_for_all(bool *mine) {
    *mine = !*mine;
    if (atomic_fetch_sub_explicit(&missing, 1, ARRIVE) == 1) {
        atomic_store_explicit(&missing, THREADS, memory_order_relaxed);
        atomic_store_explicit(&sense, *mine, memory_order_release);
    } else {
        while (atomic_load_explicit(&sense, memory_order_acquire) != *mine)
            ;
    }
}

static void *worker(void *arg) {
    int me = (int)(long)arg;
    bool mine = false;
    written[me] = me + 1;
    wait_for_all(&mine);
    assert(written[1 - me] == 2 - me);
    return NULL;
}

int main(void) {
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

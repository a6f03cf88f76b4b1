// A ticket lock: first come, first served.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define WAIT memory_order_relaxed
#else
#define WAIT memory_order_acquire
#endif

typedef struct {
    atomic_uint next;
    atomic_uint serving;
} ticket_lock;

static ticket_lock lock;
static int inside;

static void ticket_acquire(ticket_lock *l) {
    unsigned mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&l->serving, WAIT) != mine)
        ;
}

static void ticket_release(ticket_lock *l) {
    unsigned now = atomic_load_explicit(&l->serving, memory_order_relaxed);
    atomic_store_explicit(&l->serving, now + 1, memory_order_release);
}

static void *worker(void *unused) {
    ticket_acquire(&lock);
    inside++;
    assert(inside == 1);
    inside--;
    ticket_release(&lock);
    return NULL;
}

int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

// Dekker's mutual exclusion with seq_cst accesses, as C programmers write them: by writing nothing.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: robustness violated
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define ORDER memory_order_acquire
#else
#define ORDER memory_order_seq_cst
#endif

static atomic_int wants[2], turn;
static int owner;

static void enter(int me) {
    atomic_store(&wants[me], 1);
    while (atomic_load_explicit(&wants[1 - me], ORDER)) {
        if (atomic_load(&turn) != me) {
            atomic_store(&wants[me], 0);
            while (atomic_load(&turn) != me)
                ;
            atomic_store(&wants[me], 1);
        }
    }
}

static void leave(int me) {
    atomic_store(&turn, 1 - me);
    atomic_store(&wants[me], 0);
}

static void *run(void *arg) {
    int me = (int)(long)arg;
    enter(me);
    owner = me;
    leave(me);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, run, (void *)0);
    pthread_create(&b, NULL, run, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

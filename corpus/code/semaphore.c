// A semaphore hands over what was written before; one that is initialised with 1 hands over nothing.
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
// fencepost -DFORGOTTEN: assertions violated
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t full;
static int data;

static void *fill(void *unused) {
    data = 1;
    sem_post(&full);
    return unused;
}

int main(void) {
    pthread_t t;
#ifdef BROKEN
    sem_init(&full, 0, 1);
#elif !defined(FORGOTTEN)
    sem_init(&full, 0, 0);
#endif
    pthread_create(&t, 0, fill, 0);
    sem_wait(&full);
    assert(data == 1);
    pthread_join(t, 0);
    sem_destroy(&full);
    return 0;
}

// Not robust: only a message that is missing though its flag is up lets `reader` post, which no interleaving does, so there `main`
// waits for ever. On the weak memory it goes on.
// fencepost: robustness violated, assertions violated
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int message, flag;
static sem_t found;

static void *reader(void *unused)
{
    if (atomic_load_explicit(&flag, memory_order_relaxed) && !atomic_load_explicit(&message, memory_order_relaxed))
        sem_post(&found);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    sem_init(&found, 0, 0);
    pthread_create(&thread, NULL, reader, NULL);
    atomic_store_explicit(&message, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    sem_wait(&found);
    assert(0);
}

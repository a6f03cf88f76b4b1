// Not robust: `reader` goes on only if it finds the message's flag up and the message missing, which no interleaving does. What
// `main` does once it has joined it is known all the same, and its assertion is decided on the weak memory.
// fencepost: robustness violated, assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int message, flag, late;

static void *writer(void *unused)
{
    atomic_store_explicit(&message, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

static void *reader(void *unused)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
    while (atomic_load_explicit(&message, memory_order_relaxed))
        ;
    atomic_store_explicit(&late, 1, memory_order_relaxed);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[1], NULL);
    assert(!atomic_load_explicit(&late, memory_order_relaxed));
    pthread_join(threads[0], NULL);
}

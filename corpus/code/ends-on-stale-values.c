// Not robust: a reader comes to its end only if it finds the flag up and the message missing, which no interleaving does. On the
// weak memory all three may, and `main`, which waits for all of them at once, goes on.
// fencepost: robustness violated, assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int message, flag;

static void *reader(void *unused)
{
    while (!atomic_load_explicit(&flag, memory_order_relaxed))
        ;
    while (atomic_load_explicit(&message, memory_order_relaxed))
        ;
    return NULL;
}

int main(void)
{
    pthread_t readers[3];
    for (int k = 0; k < 3; k++)
        pthread_create(&readers[k], NULL, reader, NULL);
    atomic_store_explicit(&message, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    for (int k = 0; k < 3; k++)
        pthread_join(readers[k], NULL);
    assert(0);
}

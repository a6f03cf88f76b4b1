// A spin lock. Who unlocks must release what was done inside:
// make the last store memory_order_release.
#include <pthread.h>
#include <stdatomic.h>

atomic_int locked;
int counter;

static void *add(void *unused) {
    while (atomic_exchange_explicit(&locked, 1, memory_order_acquire)) {
    }
    counter++;
    atomic_store_explicit(&locked, 0, memory_order_relaxed);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, add, NULL);
    pthread_create(&two, NULL, add, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return counter != 2;
}

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static int message;         // what is handed over
static atomic_bool full;    // is there a message?

static void *sender(void *unused) {
    for (int i = 0;; i = (i + 1) % 4) {
        while (atomic_load_explicit(&full, memory_order_acquire)) {}
        message = i;
        atomic_store_explicit(&full, true, memory_order_relaxed);
    }
}

static void *receiver(void *unused) {
    for (int i = 0;; i = (i + 1) % 4) {
        while (!atomic_load_explicit(&full, memory_order_acquire)) {}
        assert(message == i);
        atomic_store_explicit(&full, false, memory_order_release);
    }
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, sender, NULL);
    pthread_create(&other, NULL, receiver, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
}

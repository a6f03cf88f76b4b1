// One thread fills in a message and raises a flag; another waits for the flag and reads the message.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed // nothing orders the message before the flag
#else
#define PUBLISH memory_order_release
#endif

static int message;
static atomic_bool ready;

static void *sender(void *unused) {
    message = 42;
    atomic_store_explicit(&ready, 1, PUBLISH);
    return NULL;
}

static void *receiver(void *unused) {
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        ;
    assert(message == 42);
    return NULL;
}

int main(void) {
    pthread_t s, r;
    pthread_create(&s, NULL, sender, NULL);
    pthread_create(&r, NULL, receiver, NULL);
    pthread_join(s, NULL);
    pthread_join(r, NULL);
}

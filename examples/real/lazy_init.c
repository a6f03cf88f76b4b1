// Double-checked initialisation: the lock is taken only until the object is there.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

struct config {
    int size;
};

static _Atomic(struct config *) instance;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct config *get(void) {
    struct config *c = atomic_load_explicit(&instance, memory_order_acquire);
    if (c)
        return c;
    pthread_mutex_lock(&mutex);
    c = atomic_load_explicit(&instance, memory_order_relaxed);
    if (!c) {
        c = malloc(sizeof *c);
        c->size = 5;
        atomic_store_explicit(&instance, c, PUBLISH);
    }
    pthread_mutex_unlock(&mutex);
    return c;
}

static void *user(void *unused) {
    assert(get()->size == 5);
    return NULL;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, user, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

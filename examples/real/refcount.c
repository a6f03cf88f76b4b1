// A reference-counted object: whoever drops the last reference frees it.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
    atomic_int references;
    int value;
};

static void drop(struct object *o) {
#ifdef BROKEN
    // Other owners' last reads are not ordered before the free.
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_relaxed) == 1)
        free(o);
#else
    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        free(o);
    }
#endif
}

static void *user(void *arg) {
    struct object *o = arg;
    assert(o->value == 7);
    drop(o);
    return NULL;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    atomic_init(&o->references, 2);
    o->value = 7;
    pthread_t a, b;
    pthread_create(&a, NULL, user, o);
    pthread_create(&b, NULL, user, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

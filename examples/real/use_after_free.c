// A reader takes a pointer and uses it; the owner frees the block without asking whether anybody still does.
//
// fencepost: races violated
// fencepost -DFIXED: robustness holds, races holds, assertions holds
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) shared;
static atomic_bool done;

static void *reader(void *unused) {
    int *p = atomic_load_explicit(&shared, memory_order_acquire);
    int sum = p ? *p : 0;
    atomic_store_explicit(&done, 1, memory_order_release);
    return (void *)(long)sum;
}

static void *owner(void *unused) {
    int *p = malloc(sizeof *p);
    *p = 1;
    atomic_store_explicit(&shared, p, memory_order_release);
#ifdef FIXED
    while (!atomic_load_explicit(&done, memory_order_acquire))
        ;
#endif
    free(p);
    return NULL;
}

int main(void) {
    pthread_t r, o;
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&o, NULL, owner, NULL);
    pthread_join(r, NULL);
    pthread_join(o, NULL);
}

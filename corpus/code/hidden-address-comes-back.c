// The address of a block that was freed may come back with the next block, and so may what was computed from it.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_uintptr_t head;

static void *looks(void *unused) {
    uintptr_t seen = head, again = head;
#ifdef BROKEN
    assert(!seen || !again || seen == again);
#endif
    return 0;
}

static void *replaces(void *unused) {
    int *p = malloc(sizeof *p);
    uintptr_t old = ~(uintptr_t)p;
    head = old;
    head = 0;
    free(p);
    int *q = malloc(sizeof *q);
#ifdef BROKEN
    assert(~(uintptr_t)q != old);
#endif
    free(q);
    return 0;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, looks, 0);
    pthread_create(&other, 0, replaces, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}

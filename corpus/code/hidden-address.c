// Addresses that are kept in disguise, as a distance from some other place, inverted, or shifted, are addresses all the same: the
// block is still there when the address is computed again.
// fencepost: assertions holds
// fencepost -DINVERTED: assertions holds
// fencepost -DSCALED: assertions holds
// fencepost -DBROKEN: assertions violated
// fencepost -DBROKEN -DINVERTED: assertions violated
// fencepost -DBROKEN -DSCALED: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static char base[64];
static atomic_int x;

static uintptr_t hide(int *p) {
#if defined INVERTED
    return -(uintptr_t)p;
#elif defined SCALED
    return (uintptr_t)p / 4;
#else
    return (uintptr_t)p - (uintptr_t)base;
#endif
}

static int *find(uintptr_t hidden) {
#if defined INVERTED
    return (int *)-hidden;
#elif defined SCALED
    return (int *)(hidden * 4);
#else
    return (int *)(hidden + (uintptr_t)base);
#endif
}

static uintptr_t make(void) {
    int *p = calloc(1, sizeof *p);
    *p = 5;
    return hide(p);
}

static void *writer(void *unused) {
    x = 1;
    return 0;
}

static void *keeper(void *unused) {
    uintptr_t hidden = make();
    int seen = x;
    int *p = find(hidden);
#ifdef BROKEN
    assert(*p == seen);
#else
    assert(*p == 5);
#endif
    free(p);
    return 0;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, writer, 0);
    pthread_create(&other, 0, keeper, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
}

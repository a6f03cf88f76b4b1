// A variable of `main` that a thread still uses when `main` returns; a global variable lives on.
// fencepost: assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>
#include <stdatomic.h>

static atomic_int shared;

static void *use(void *p) {
    atomic_fetch_add((atomic_int *)p, 1);
    return 0;
}

int main(void) {
    pthread_t t;
#ifdef BROKEN
    atomic_int x = 1;
    pthread_create(&t, 0, use, &x);
#else
    pthread_create(&t, 0, use, &shared);
#endif
    return 0;
}

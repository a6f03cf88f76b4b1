// A variable of `main` that a thread uses after `main` has left by `pthread_exit`; waiting for the thread first is right.
// fencepost: assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>

static void *use(void *p) {
    *(int *)p += 1;
    return 0;
}

int main(void) {
    pthread_t t;
    int x = 1;
    pthread_create(&t, 0, use, &x);
#ifndef BROKEN
    pthread_join(t, 0);
#endif
    pthread_exit(0);
}

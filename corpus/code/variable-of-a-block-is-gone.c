// A variable of an inner block is gone at the end of the block, also for a thread that was started in it.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>

static int seen;

static void *look(void *shared) {
    seen = *(int *)shared;
    return 0;
}

int main(void) {
    pthread_t thread;
    {
        int shared = 5;
        pthread_create(&thread, 0, look, &shared);
#ifndef BROKEN
        pthread_join(thread, 0);
#endif
    }
#ifdef BROKEN
    pthread_join(thread, 0);
#endif
    return seen != 5;
}

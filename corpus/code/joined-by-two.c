// Two threads join the same thread.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <pthread.h>

static pthread_t worker;

static void *work(void *unused) {
    return unused;
}

static void *wait(void *unused) {
#ifdef BROKEN
    pthread_join(worker, 0);
#endif
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&worker, 0, work, 0);
    pthread_create(&t, 0, wait, 0);
    pthread_join(worker, 0);
    pthread_join(t, 0);
    return 0;
}

// A lock that each thread initialises before it uses it; one thread should, before the others start.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>

static pthread_mutex_t lock;
static int money;

static void *pay(void *unused) {
#ifdef BROKEN
    pthread_mutex_init(&lock, 0);
#endif
    pthread_mutex_lock(&lock);
    money++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t t, u;
#ifndef BROKEN
    pthread_mutex_init(&lock, 0);
#endif
    pthread_create(&t, 0, pay, 0);
    pthread_create(&u, 0, pay, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}

// A thread that detaches itself, or is created detached, is joined.
// fencepost: assertions holds
// fencepost -DITSELF: assertions violated
// fencepost -DCREATED: assertions violated
// fencepost -DDETACHED_ONLY: assertions holds
#include <pthread.h>

static void *work(void *unused) {
#ifdef ITSELF
    pthread_detach(pthread_self());
#endif
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_attr_t how;
    pthread_attr_init(&how);
#if defined(CREATED) || defined(DETACHED_ONLY)
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
#else
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_JOINABLE);
#endif
    pthread_create(&t, &how, work, 0);
#ifndef DETACHED_ONLY
    pthread_join(t, 0);
#endif
    return 0;
}

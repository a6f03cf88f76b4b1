// A thread reads its id where `pthread_create` stores it, perhaps later; `pthread_self` is right.
// fencepost: assertions holds
// fencepost -DBROKEN: races violated
#include <assert.h>
#include <pthread.h>

static pthread_t id;

static void *work(void *unused) {
#ifdef BROKEN
    assert(pthread_equal(id, pthread_self()));
#else
    assert(pthread_equal(pthread_self(), pthread_self()));
#endif
    return unused;
}

int main(void) {
    pthread_create(&id, 0, work, 0);
    pthread_join(id, 0);
    return 0;
}

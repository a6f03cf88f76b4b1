// A readers-writer lock that is tried: what it protects may be touched only if that succeeds.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int x;

static void *change(void *unused) {
    if (pthread_rwlock_trywrlock(&lock) == 0) {
        x++;
        pthread_rwlock_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t t;
    int seen = 0;
    pthread_create(&t, 0, change, 0);
#ifdef BROKEN
    pthread_rwlock_tryrdlock(&lock);
    seen = x;
#else
    if (pthread_rwlock_tryrdlock(&lock) == 0) {
        seen = x;
        pthread_rwlock_unlock(&lock);
    }
#endif
    pthread_join(t, 0);
    return seen > 1;
}

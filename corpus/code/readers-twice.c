// A thread may read-lock a readers-writer lock several times, and unlocks it as often.
// fencepost: races holds, assertions holds
// fencepost -DRACE: races violated
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int number;

static void *writer(void *unused) {
    pthread_rwlock_wrlock(&lock);
    number++;
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    pthread_rwlock_rdlock(&lock);
    int tried = pthread_rwlock_tryrdlock(&lock);
    int before = number;
    if (tried == 0)
        pthread_rwlock_unlock(&lock);
#ifdef RACE
    pthread_rwlock_unlock(&lock);
    assert(number <= 1);
#else
    assert(number == before);
    pthread_rwlock_unlock(&lock);
#endif
#ifdef BROKEN
    pthread_rwlock_unlock(&lock);
#endif
    pthread_join(thread, 0);
}

// Waiting with a time limit: it may run out at any time, so what was waited for may not have come.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *tell(void *unused) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t t;
    struct timespec until;
    pthread_create(&t, 0, tell, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&lock);
    int late = 0;
    while (!ready && !late)
        late = pthread_cond_timedwait(&changed, &lock, &until) != 0;
#ifdef BROKEN
    assert(ready);
#else
    assert(ready || late);
#endif
    pthread_mutex_unlock(&lock);
    pthread_join(t, 0);
    return 0;
}

// Functions that wait up to a time read it, so whoever changes it meanwhile races.
// fencepost -DSLEEP: races violated
// fencepost -DWAIT: races violated
// fencepost -DSEED: races violated
// fencepost -DNOTHING: assertions holds
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static struct timespec until;
static unsigned seed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waits(void *unused) {
#ifdef SLEEP
    nanosleep(&until, NULL);
#elif defined WAIT
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
#elif defined SEED
    rand_r(&seed);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    until.tv_sec = 1;
    seed = 1;
    pthread_join(thread, NULL);
    return 0;
}

// A bounded queue with a mutex and a condition variable.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <pthread.h>

#define SLOTS 1

static int slots[SLOTS], first, count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(int value) {
    pthread_mutex_lock(&mutex);
    while (count == SLOTS)
        pthread_cond_wait(&changed, &mutex);
    slots[(first + count++) % SLOTS] = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static int get(void) {
    pthread_mutex_lock(&mutex);
#ifdef BROKEN
    if (count == 0) // a wake-up may have no reason
#else
    while (count == 0)
#endif
        pthread_cond_wait(&changed, &mutex);
    int value = slots[first];
    first = (first + 1) % SLOTS;
    count--;
    assert(count >= 0);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return value;
}

static void *producer(void *unused) {
    put(1);
    put(2);
    return NULL;
}

static void *consumer(void *unused) {
    assert(get() == 1);
    assert(get() == 2);
    return NULL;
}

int main(void) {
    pthread_t p, c;
    pthread_create(&p, NULL, producer, NULL);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(p, NULL);
    pthread_join(c, NULL);
}

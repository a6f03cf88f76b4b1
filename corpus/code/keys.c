// Each thread has its own value for a key.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <pthread.h>

static pthread_key_t key;

static void *work(void *value) {
#ifdef BROKEN
    assert(pthread_getspecific(key) != 0);
#endif
    pthread_setspecific(key, value);
    assert(pthread_getspecific(key) == value);
    return 0;
}

int main(void) {
    pthread_t t;
    int one, two;
    pthread_key_create(&key, 0);
    pthread_create(&t, 0, work, &one);
    pthread_setspecific(key, &two);
    assert(pthread_getspecific(key) == &two);
    pthread_join(t, 0);
    return 0;
}

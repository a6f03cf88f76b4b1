// A lock in memory that was never initialised.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: assertions violated
// fencepost -DSTACK: assertions violated
// fencepost -DASSIGNED: races holds, assertions holds
#include <pthread.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int money;
};

static void *pay(void *p) {
    struct account *a = p;
    pthread_mutex_lock(&a->lock);
    a->money++;
    pthread_mutex_unlock(&a->lock);
    return 0;
}

int main(void) {
    pthread_t t;
#ifdef STACK
    struct account here;
    struct account *a = &here;
#else
    struct account *a = malloc(sizeof *a);
#endif
    a->money = 0;
#ifdef ASSIGNED
    a->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
#elif !defined(BROKEN) && !defined(STACK)
    pthread_mutex_init(&a->lock, 0);
#endif
    pthread_create(&t, 0, pay, a);
    pay(a);
    pthread_join(t, 0);
    return 0;
}

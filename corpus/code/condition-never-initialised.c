// A condition variable and a barrier in memory that was never initialised.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <pthread.h>
#include <stdlib.h>

struct box {
    pthread_mutex_t lock;
    pthread_cond_t full;
    int value;
};

static void *fill(void *p) {
    struct box *b = p;
    pthread_mutex_lock(&b->lock);
    b->value = 1;
    pthread_cond_signal(&b->full);
    pthread_mutex_unlock(&b->lock);
    return 0;
}

int main(void) {
    pthread_t t;
    struct box *b = malloc(sizeof *b);
    b->value = 0;
    pthread_mutex_init(&b->lock, 0);
#ifndef BROKEN
    pthread_cond_init(&b->full, 0);
#endif
    pthread_create(&t, 0, fill, b);
    pthread_mutex_lock(&b->lock);
    while (!b->value)
        pthread_cond_wait(&b->full, &b->lock);
    pthread_mutex_unlock(&b->lock);
    pthread_join(t, 0);
    free(b);
    return 0;
}

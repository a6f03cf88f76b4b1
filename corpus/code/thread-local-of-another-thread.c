// A thread-local variable whose thread may have ended.
// fencepost: races violated
#include <pthread.h>
#include <stdatomic.h>

_Thread_local int t;
int *_Atomic g;
void *t1(void *unused) {
    t = 1;
    atomic_store(&g, &t);
    t = 2;
    return 0;
}
void *t2(void *unused) {
    int *q = atomic_load(&g);
    if (q) {
        int r = *q;
        (void)r;
    }
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, t1, 0);
    pthread_create(&b, 0, t2, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}

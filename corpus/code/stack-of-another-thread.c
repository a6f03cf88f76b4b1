// A variable of a function that may have returned.
// fencepost: races violated
#include <pthread.h>
#include <stdatomic.h>

int *_Atomic g;
void *t1(void *unused) {
    int x = 1;
    atomic_store(&g, &x);
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

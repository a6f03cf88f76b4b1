// A variable that was never given a value is published.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int f;
int g;
void *t1(void *unused) {
    int x;
    g = x;
    atomic_store(&f, 1);
    return 0;
}
void *t2(void *unused) {
    if (atomic_load(&f)) {
        assert(g == 0);
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

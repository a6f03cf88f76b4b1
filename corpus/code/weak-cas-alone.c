// A weak compare-and-exchange may fail though nobody else is there.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

void *t1(void *unused) {
    atomic_int x = 0;
    int e = 0;
    bool ok = atomic_compare_exchange_weak(&x, &e, 1);
    assert(ok);
    return 0;
}
void *t2(void *unused) {
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

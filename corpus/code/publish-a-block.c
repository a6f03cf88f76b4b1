// A block that is published by a relaxed store was zeroed in no order with its use.
// fencepost: races violated
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct N {
    int v;
};
struct N *_Atomic g;
void *t1(void *unused) {
    struct N *n = calloc(1, sizeof *n);
    atomic_store_explicit(&g, n, memory_order_relaxed);
    return 0;
}
void *t2(void *unused) {
    struct N *n = atomic_load_explicit(&g, memory_order_relaxed);
    if (n) {
        int r = n->v;
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

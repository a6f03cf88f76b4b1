// The loop waits, and reads what is not published yet.
// fencepost: races violated
#include <pthread.h>
#include <stdatomic.h>

int d;
atomic_int f;
void *t1(void *unused) {
    d = 1;
    atomic_store_explicit(&f, 1, memory_order_release);
    return 0;
}
void *t2(void *unused) {
    int s = 0;
    while (!atomic_load_explicit(&f, memory_order_acquire))
        s = d;
    (void)s;
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

// A struct with an atomic field is returned by value.
// fencepost: robustness holds, assertions holds
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct {
    atomic_int a;
    int b;
} T;
T mk(void) {
    T t;
    atomic_init(&t.a, 3);
    t.b = 4;
    return t;
}
atomic_int s;
void *t1(void *unused) {
    T t = mk();
    assert(t.a == 3 && t.b == 4);
    s++;
    return 0;
}
void *t2(void *unused) {
    s++;
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

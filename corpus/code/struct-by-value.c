// A struct that is passed by value is read as a whole.
// fencepost: races violated
#include <pthread.h>

typedef struct {
    long a, b, c, d;
} T;
T g;
long f(T t) {
    return t.d;
}
void *t1(void *unused) {
    g.d = 1;
    return 0;
}
void *t2(void *unused) {
    volatile long r = f(g);
    (void)r;
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

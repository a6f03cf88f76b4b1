// Neighbouring bytes are memory of their own.
// fencepost: robustness holds, assertions holds
#include <pthread.h>

struct {
    char a;
    char b;
} s;
void *t1(void *unused) {
    s.a = 1;
    return 0;
}
void *t2(void *unused) {
    s.b = 1;
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

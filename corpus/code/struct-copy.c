// A struct that is copied as a whole while one of its fields is read.
// fencepost: races violated
#include <pthread.h>

struct S {
    int a, b, c;
};
struct S s;
void *t1(void *unused) {
    struct S x = {1, 2, 3};
    s = x;
    return 0;
}
void *t2(void *unused) {
    int r = s.b;
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

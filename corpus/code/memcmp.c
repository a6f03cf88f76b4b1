// `memcmp` reads what another thread writes.
// fencepost: races violated
#include <pthread.h>
#include <string.h>

char buf[8] = "abc";
void *t1(void *unused) {
    buf[2] = 0;
    return 0;
}
void *t2(void *unused) {
    char z[8] = "abc";
    volatile int r = memcmp(buf, z, 8);
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

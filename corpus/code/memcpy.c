// `memcpy` writes what another one reads.
// fencepost: races violated
#include <pthread.h>
#include <string.h>

char buf[16];
void *t1(void *unused) {
    memcpy(buf, "abcdefgh", 8);
    return 0;
}
void *t2(void *unused) {
    char l[16];
    memcpy(l, buf, 16);
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

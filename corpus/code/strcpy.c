// `strcpy` writes what another thread reads.
// fencepost: races violated
#include <pthread.h>
#include <string.h>

char buf[8] = "abc";
void *t1(void *unused) {
    strcpy(buf, "x");
    return 0;
}
void *t2(void *unused) {
    char y = buf[1];
    (void)y;
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

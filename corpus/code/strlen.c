// `strlen` reads what another thread writes.
// fencepost: races violated
#include <pthread.h>
#include <string.h>

char buf[8] = "abc";
void *t1(void *unused) {
    buf[1] = 0;
    return 0;
}
void *t2(void *unused) {
    volatile size_t r = strlen(buf);
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

// `printf` reads the text that it prints.
// fencepost: races violated
#include <pthread.h>
#include <stdio.h>

char s[4] = "ab";
void *t1(void *unused) {
    s[0] = 0;
    return 0;
}
void *t2(void *unused) {
    printf("%s", s);
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

// `puts` reads the text that it prints.
// fencepost: assertions violated
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *t1(void *unused) {
    char *p = malloc(4);
    strcpy(p, "ab");
    free(p);
    puts(p);
    return 0;
}
void *t2(void *unused) {
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

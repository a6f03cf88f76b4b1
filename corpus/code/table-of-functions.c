// Functions that are called through a table race like others.
// fencepost: races violated
#include <pthread.h>

int d;
static void inc(void) {
    d++;
}
static void no(void) {
}
void (*tab[2])(void) = {no, inc};
void *t1(void *unused) {
    tab[1]();
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    tab[1]();
    pthread_join(a, 0);
    return 0;
}
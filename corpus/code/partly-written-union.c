// One byte of a union was written, and all of it is looked at.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>

void *t1(void *unused) {
    union {
        char c;
        int i;
    } u;
    u.c = 0;
    assert(u.i == 0);
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

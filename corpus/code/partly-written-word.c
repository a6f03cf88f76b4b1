// One byte of a word was written, and all of it is looked at.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>
#include <string.h>

void *t1(void *unused) {
    unsigned char b[4];
    b[0] = 1;
    unsigned v;
    memcpy(&v, b, 4);
    assert(v == 1);
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

// A function with the attribute `constructor` runs before `main`.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>

int d;
__attribute__((constructor)) void h(void) {
    d = 1;
}
void *t1(void *unused) {
    assert(d == 0);
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    pthread_join(a, 0);
    return 0;
}
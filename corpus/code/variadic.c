// Arguments of a variadic function: 1 + 2 + 3 is not 7.
// fencepost: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>

int d;
int sum(int n, ...) {
    va_list ap;
    va_start(ap, n);
    int s = 0;
    for (int i = 0; i < n; i++)
        s += va_arg(ap, int);
    va_end(ap);
    return s;
}
void *t1(void *unused) {
    assert(sum(3, 1, 2, 3) == 7);
    return 0;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, t1, 0);
    pthread_join(a, 0);
    return 0;
}
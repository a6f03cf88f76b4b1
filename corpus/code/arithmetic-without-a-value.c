// Arithmetic that C gives no value: the rest of a division whose quotient does not fit, the leading zeros of 0, a
// number that is too large for an int; and a sum with a number of which one byte was written.
// fencepost: assertions holds
// fencepost -DREST: assertions violated
// fencepost -DZEROS: assertions violated
// fencepost -DLARGE: assertions violated
// fencepost -DPARTLY: assertions violated
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int minus_one, none;

static void *start(void *unused) {
    minus_one = -1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
    int by = minus_one;
    assert((INT_MIN + 1) % by == 0 && __builtin_clz(1 + none) == 31 && (int)(2e9 + none) == 2000000000);
#ifdef REST
    assert(INT_MIN % by != 7);
#elif defined ZEROS
    assert(__builtin_clz(none) != 7);
#elif defined LARGE
    assert((int)(3e9 + none) != 7);
#elif defined PARTLY
    union {
        unsigned char bytes[4];
        unsigned number;
    } partly;
    unsigned sum;
    partly.bytes[0] = 1;
    __builtin_uadd_overflow(1u, partly.number, &sum);
    assert(sum == 1);
#endif
    return 0;
}

// Sums, differences and products of 128 bits without a sign, and numbers that are rounded once on the way to a float.
// fencepost: assertions holds
// fencepost -DADD: assertions violated
// fencepost -DMULTIPLY: assertions violated
// fencepost -DROUND: assertions violated
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

typedef unsigned __int128 wide;

static atomic_int one;

static void *start(void *unused) {
    one = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
    wide u = one, most = u - 3, half = u << 127, result;
    unsigned long between = 0x8000008000000000ul + (unsigned long)u;
    assert(!__builtin_add_overflow(most, u, &result) && result == most + 1);
    assert(!__builtin_add_overflow(half, u, &result) && !__builtin_sub_overflow(most, u, &result));
    assert(__builtin_mul_overflow(most, most, &result) && __builtin_add_overflow(half, half, &result));
    assert((float)between == 0x1.000002p63f && (float)(0x4000004000000000l + one) == 0x1.000002p62f);
#ifdef ADD
    assert(__builtin_add_overflow(most, u, &result));
#elif defined MULTIPLY
    assert(!__builtin_mul_overflow(most, most, &result));
#elif defined ROUND
    assert((float)between == 0x1p63f);
#endif
    return 0;
}

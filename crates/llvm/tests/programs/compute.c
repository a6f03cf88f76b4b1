/* Uses one instruction after the other and prints what comes out. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct bits { unsigned a : 3; int b : 7; unsigned long c : 40; };
struct big { long words[5]; char tag; };
union mix { double d; uint64_t u; unsigned char bytes[8]; };
enum colour { RED, GREEN = 5, BLUE = -2 };

static uint64_t hash = 14695981039346656037u;
static const char *names[] = { "zero", "one\t\"two\"", "\xc3\xa9" };
static _Thread_local int per_thread = 4;

static void mix(uint64_t value) {
    hash = (hash ^ value) * 1099511628211u;
    hash = hash >> 29 ^ hash << 35;
}

static int integers(int8_t a, uint16_t b, int32_t c, uint64_t d) {
    mix((uint64_t)(a * b - c));
    mix(d / (b | 1u) + d % (b | 1u));
    mix((uint64_t)(c / (a | 1) + c % (a | 1)));
    mix((uint64_t)(c >> 3) ^ (uint64_t)c << 5 ^ d >> 7);
    mix((uint64_t)(a < c) << 3 | (uint64_t)(b > d) << 2 | (uint64_t)(c <= a) << 1 | (d >= b));
    mix((uint64_t)(~a & c) | (uint64_t)(b ^ -1));
    unsigned __int128 wide = (unsigned __int128)d * d + 1;
    mix((uint64_t)(wide >> 64) + (uint64_t)(wide % 1000000007u));
    return a ? c : (int)b;
}

static double floats(float f, double d, long double l) {
    double sum = f * 2.5f + d / 3 - (double)(l * l);
    mix((uint64_t)(int64_t)sum);
    mix((uint64_t)(f < d) | (uint64_t)(d != d) << 1 | (uint64_t)(l >= 2) << 2);
    mix((uint32_t)-(int)f + (uint64_t)d);
    union mix m = { .d = -sum };
    mix(m.u + m.bytes[3]);
    return sum;
}

static struct big copy(struct big in, int n) {
    in.words[n % 5] += n;
    in.tag ^= 1;
    return in;
}

static int many(int count, ...) {
    va_list list;
    int sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum = sum * 7 + va_arg(list, int);
    va_end(list);
    return sum;
}

static int choose(int n) {
    switch (n) {
    case 0: return 3;
    case 1: mix(1); /* falls through */
    case 2: return 4;
    case -7: return 5;
    case 1000000: return 6;
    default: return n > 10 ? 7 : 8;
    }
}

static int jump(int n) {
    static void *targets[] = { &&add, &&stop };
    int i = 0;
    goto *targets[n > 3];
add:
    i += n++;
    goto *targets[n > 3];
stop:
    return i;
}

static void atomics(void) {
    static atomic_int i = 5;
    static _Atomic(uint64_t) u = 9;
    static _Atomic(const char *) p;
    mix((uint64_t)atomic_fetch_add(&i, 3) + (uint64_t)atomic_fetch_sub_explicit(&i, 1, memory_order_release));
    mix(atomic_fetch_or(&u, 6) ^ atomic_fetch_and(&u, 12) ^ atomic_fetch_xor(&u, 5));
    mix(atomic_exchange_explicit(&u, 77, memory_order_acq_rel));
    int expected = 7;
    mix((uint64_t)atomic_compare_exchange_strong(&i, &expected, 40));
    mix((uint64_t)atomic_compare_exchange_strong(&i, &expected, 41) + (uint64_t)expected);
    static uint64_t raw = 12;
    mix(__atomic_fetch_nand(&raw, 6, __ATOMIC_SEQ_CST) + raw);
    atomic_store_explicit(&p, names[1], memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    __asm__ volatile("" ::: "memory");
    mix((uint64_t)atomic_load_explicit(&p, memory_order_acquire)[2]);
}

int main(void) {
    int (*calls[])(int) = { choose, jump };
    for (int i = -8; i < 8; i++) {
        mix((uint64_t)integers((int8_t)(i * 17), (uint16_t)(i * 4001), i * 123456789, (uint64_t)i * 0x9e3779b97f4a7c15u));
        mix((uint64_t)(int64_t)floats((float)i / 4, i * 1.75, i + 0.5L));
        mix((uint64_t)calls[i & 1](i) + (uint64_t)choose(i * 1000000));
    }
    struct bits b = { 5, -9, 1ul << 37 };
    b.a += 4, b.b -= 60, b.c |= 255;
    mix((uint64_t)(b.a * 1000 + (unsigned)b.b) + b.c);
    struct big big = { { 1, 2, 3, 4, 5 }, 'x' };
    for (int i = 0; i < 9; i++)
        big = copy(big, i);
    int matrix[3][4] = { { 1, 2 }, { 3 }, { [3] = 9 } };
    for (int i = 0; i < 12; i++)
        mix((uint64_t)((int *)matrix)[i] + (uint64_t)big.words[i % 5]);
    char text[32];
    memset(text, '-', sizeof text);
    memcpy(text, names[1], strlen(names[1]) + 1);
    mix((uint64_t)text[4] * (uint64_t)text[20] + (uint64_t)big.tag);
    mix((uint64_t)many(4, 1, -2, 3, BLUE) + GREEN + (uint64_t)per_thread++);
    atomics();
    int n = (int)(hash % 7) + 2, vla[n];
    for (int i = 0; i < n; i++)
        vla[i] = i * i;
    mix((uint64_t)vla[n - 1]);
    printf("%s %s %016lx %.3f\n", names[0], names[2], (unsigned long)hash, floats(1, 2, 3));
    return (int)(hash & 63);
}

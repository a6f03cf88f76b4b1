// Numbers printed into texts and read from them, texts searched and copied.
// fencepost: races holds, assertions holds
// fencepost -DTOO_SHORT: assertions violated
// fencepost -DRACE: races violated
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long __isoc23_strtol(const char *text, char **end, int base); // what newer headers call `strtol`

static char name[16];

static void *namer(void *unused) {
#ifdef TOO_SHORT
    char number[3];
#else
    char number[4];
#endif
    sprintf(number, "%d", 255 - 20 / 2);
    assert(atoi(number) == 245);
    snprintf(name, sizeof name, "%s-%s", "worker", number);
    return NULL;
}

static int is(const char *text, const char *other) { return strcmp(text, other) == 0; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, namer, NULL);
#ifndef RACE
    pthread_join(thread, NULL);
#endif
    char *copy = strdup(name);
    assert(is(copy, "worker-245") && strchr(copy, '-') == copy + 6 && strstr(copy, "245") == copy + 7);
    assert(strrchr(copy, 'r') == copy + 5 && !strchr(copy, 'x') && memchr(copy, 'k', 6) == copy + 3);
    free(copy);
#ifdef RACE
    pthread_join(thread, NULL);
#endif
    char text[80] = "<";
    assert(snprintf(text, 5, "%04x|%-4u|%+d", 0xbeefu, 7u, 3) == 12 && is(text, "beef"));
    snprintf(text, sizeof text, "%5d|%05d|%-5d|%.3d|%c|%%|%5.2s|", -42, -42, -42, 7, 'x', "abc");
    assert(is(text, "  -42|-0042|-42  |007|x|%|   ab|"));
    snprintf(text, sizeof text,
             "%ld %lu %zu %hhd %#x %o %.2f %*d", LONG_MIN, ULONG_MAX, sizeof text, 511, 255, 8, -2.25, 3, 1);
    assert(is(text, "-9223372036854775808 18446744073709551615 80 -1 0xff 10 -2.25   1"));
    strcpy(text, "ab");
    strncat(strcat(text, "cd"), "efgh", 2);
    assert(is(text, "abcdef"));
    char *end;
    assert(strtol(" -0x1fz", &end, 0) == -31 && *end == 'z' && strtol("077", NULL, 0) == 63);
    assert(strtol("zz", &end, 10) == 0 && *end == 'z' && strtoul("4294967296", NULL, 10) == 1ul << 32);
    assert(__isoc23_strtol("12", NULL, 10) == 12);
    errno = 0;
    assert(strtol("99999999999999999999", NULL, 10) == LONG_MAX && errno == ERANGE);
    double two = 2;
    assert(sqrt(two * two) == 2 && fabs(-two) == 2 && floor(-1.5) == -2 && ceil(1.2) == 2 && fmod(5, two) == 1);
    assert(sqrtf(9) == 3 && round(2.5) == 3 && rint(2.5) == 2 && fmax(1, two) == 2);
}

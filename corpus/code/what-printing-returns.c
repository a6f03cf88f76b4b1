// `printf` and its kin return how much they print, and read what they print, also from a list of arguments.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
// fencepost -DFREED: assertions violated
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int logged(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vprintf(format, list);
    va_end(list);
    return length;
}

static void silently_logged(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
}

static int made(char *to, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(to, room, format, list);
    va_end(list);
    return length;
}

int main(void) {
    char text[8];
    int length = printf("%d and %s\n", 42, "more");
    assert(logged("%s-%ld\n", "ab", -7L) == 6);
    assert(made(text, sizeof text, "%d %c%s", 12, 'x', "yz and more") == 15 && !strcmp(text, "12 xyz "));
#ifdef BROKEN
    assert(length == 0);
#else
    assert(length == 12);
#endif
    char *copy = malloc(2);
    strcpy(copy, "a");
#ifdef FREED
    free(copy);
    silently_logged("%s\n", copy);
#else
    silently_logged("%s\n", copy);
    free(copy);
#endif
}

#include <stdio.h>

struct item { int key; char tag; };

int tentative;
extern int table[3];
extern int chosen(void);
extern int (*const through)(int);
extern const char *describe(struct item item);
__attribute__((weak)) int weak(void) { return 1; }

static int counter = 10;
static int next(void) { return ++counter; }

int shared(int n) { return n * next(); }

int main(void) {
    struct item item = { 7, 'x' };
    tentative += 5;
    printf("%d %d %d %d\n", weak(), chosen(), through(3), tentative);
    printf("%d %d %s %d\n", next(), table[2], describe(item), counter);
    return 0;
}

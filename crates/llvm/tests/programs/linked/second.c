#include <stdio.h>

struct item { long words[2]; };

int tentative;
int table[3] = { 1, 2, 4 };
static int counter = 100;
static int next(void) { counter += 7; return counter; }

extern int shared(int);
static struct item here = { { 3, 9 } };

int weak(void) { return next() + tentative; }
int original(void) { return (int)here.words[1] + shared(2); }
int chosen(void) __attribute__((alias("original")));
int (*const through)(int) = shared;

__attribute__((constructor)) static void before(void) { puts("second"); tentative = 2; }

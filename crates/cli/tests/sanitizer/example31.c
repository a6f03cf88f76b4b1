/* Example 3.1 of the paper: found in every run in which one thread reads 0. If neither does, both have
   synchronised before anything is stale, and the clocks show nothing. */
#include "run.h"
atomic_int x, y;
static void *left(void *p) {
  store(x, 1, rel);
  int a = load(y, acq);
  store(x, 2, rel);
  return (void *)(long)a;
}
static void *right(void *p) {
  store(y, 1, rel);
  int b = load(x, acq);
  store(y, 2, rel);
  return (void *)(long)b;
}
int main(void) {
  run2(left, right);
  puts("done");
}

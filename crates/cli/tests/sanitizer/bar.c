/* A barrier with plain spin loops: stale values make it wait, and no harm is done. */
#include "run.h"
atomic_int x, y;
static void *left(void *p) {
  store(x, 1, rlx);
  while (load(y, rlx) != 1) {
  }
  return p;
}
static void *right(void *p) {
  store(y, 1, rlx);
  while (load(x, rlx) != 1) {
  }
  return p;
}
int main(void) {
  run2(left, right);
  puts("done");
}

/* Store buffering with fences in assembly, which nobody sees; NAMED: they are named as well. */
#include "run.h"
#include <fencepost.h>
atomic_int x, y;
static void full_fence(void) {
  __asm__ volatile("mfence" : : : "memory");
#ifdef NAMED
  fencepost_fence(memory_order_seq_cst);
#endif
}
static void *left(void *p) {
  store(x, 1, rlx);
  full_fence();
  return (void *)(long)load(y, rlx);
}
static void *right(void *p) {
  store(y, 1, rlx);
  full_fence();
  return (void *)(long)load(x, rlx);
}
int main(void) {
  run2(left, right);
  puts("done");
}

/* Store buffering in a function with a fence between the store and the load that is not passed. Without a define, it is. TWICE: the
 * function returns after the store, and is called again for the load. LEFT: a function that is called before the fence jumps past
 * it. */
#include "run.h"
#include <setjmp.h>
static atomic_int x, y;
static volatile int always = 1, never;
struct side {
  atomic_int *mine, *other;
  volatile int begins, ends;
  jmp_buf back;
};
__attribute__((noinline)) static void maybe_leave(struct side *side) {
#ifdef LEFT
  if (always) longjmp(side->back, 1);
#else
  (void)side;
#endif
}
__attribute__((noinline)) static int step(struct side *side) {
#ifdef LEFT
  if (!setjmp(side->back))
#endif
    if (side->begins) {
      store(*side->mine, 1, rlx);
      if (!side->ends) return 0;
      maybe_leave(side);
      __asm__ volatile("mfence" : : : "memory");
      if (never) return 1;
    }
  return load(*side->other, rlx);
}
static void *both(struct side *side) {
#ifdef TWICE
  side->ends = 0;
  step(side);
  side->begins = 0;
#endif
  return (void *)(long)step(side);
}
static void *left(void *p) {
  (void)p;
  struct side side = {.mine = &x, .other = &y, .begins = 1, .ends = 1};
  return both(&side);
}
static void *right(void *p) {
  (void)p;
  struct side side = {.mine = &y, .other = &x, .begins = 1, .ends = 1};
  return both(&side);
}
int main(void) {
  run2(left, right);
  puts("done");
}

/* Store buffering with fences in assembly. HOW says which; without a HOW there are none. BRANCH: behind a branch, where
 * they are not seen, unless they are NAMED as well. ARMS: behind a branch, with the load that they are for. AGAIN: between what was
 * stored and the fence, it is loaded again. */
#include "run.h"
#include <fencepost.h>
#define MFENCE 1
#define LOCKED 2
#define EXCHANGE 3
atomic_int x, y;
volatile int always = 1;
int plain[2];
static void full_fence(void) {
#ifdef BRANCH
  if (always)
#endif
  {
#if HOW == MFENCE
    __asm__ volatile("mfence" : : : "memory");
#elif HOW == LOCKED
    __asm__ volatile("lock; addl $0, -8(%%rsp)" : : : "memory", "cc");
#elif HOW == EXCHANGE
    int there = 0, here = 1;
    __asm__ volatile("xchg %0, %1" : "+m"(there), "+r"(here) : : "memory");
#endif
  }
#ifdef NAMED
  fencepost_fence(memory_order_seq_cst);
#endif
}
__attribute__((noinline)) static void announce(atomic_int *flag) {
  atomic_store_explicit(flag, 1, rlx);
#ifdef AGAIN
  (void)atomic_load_explicit(flag, rlx);
  (void)atomic_load_explicit(flag, rlx);
#endif
}
static void *left(void *p) {
#ifdef ARMS
  store(x, 1, rlx);
#else
  announce(&x);
#endif
  plain[0] = 1;
#ifdef ARMS
  if (!always) {
    store(x, 2, rlx);
    return p;
  }
#endif
  full_fence();
  return (void *)(long)load(y, rlx);
}
static void *right(void *p) {
#ifdef ARMS
  store(y, 1, rlx);
#else
  announce(&y);
#endif
  plain[1] = 1;
#ifdef ARMS
  if (!always) {
    store(y, 2, rlx);
    return p;
  }
#endif
  full_fence();
  return (void *)(long)load(x, rlx);
}
int main(void) {
  run2(left, right);
  puts("done");
}

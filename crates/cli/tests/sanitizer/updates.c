/* Two threads that announce themselves, and then update a counter whose value they may not know. A stale value does
 * no harm where it only makes a compare-and-swap fail, or where a weak one fails that may fail anyway. HOW says
 * what is done with it; with LEAK, something else depends on the stale value as well. */
#include "run.h"
#define LOOP 0
#define WEAK_LOOP 1
#define PUSH 2
#define FAST_PATH 3
#define UNUSED 4
#define STRONG 5
struct node {
  struct node *next;
};
atomic_int counters[2];
_Atomic(struct node *) tops[2];
atomic_int locks[2] = {1, 1};
struct node first[2], second[2];
int leaked[2];
__attribute__((noinline)) static void slow_path(atomic_int *lock) {
  for (;;) {
    int expected = 0;
    if (load(*lock, rlx) == 0 && atomic_compare_exchange_strong_explicit(lock, &expected, 1, acq, rlx)) return;
  }
}
static void *update(void *p) {
  long me = (long)p, other = 1 - me;
#if HOW == LOOP || HOW == WEAK_LOOP || HOW == UNUSED
  store(counters[me], 1, rlx);
  int old = load(counters[other], rlx);
#ifdef LEAK
  leaked[me] = old;
#endif
#if HOW == LOOP
  while (!atomic_compare_exchange_strong_explicit(&counters[other], &old, old + 2, rlx, rlx)) {
  }
#elif HOW == WEAK_LOOP
  while (!atomic_compare_exchange_weak_explicit(&counters[other], &old, old + 2, rlx, rlx)) {
  }
#endif
#elif HOW == PUSH
  store(tops[me], &first[me], rel);
  struct node *old = load(tops[other], rlx);
#ifdef LEAK
  leaked[me] = old != 0;
#endif
  do {
    second[me].next = old;
  } while (!atomic_compare_exchange_weak_explicit(&tops[other], &old, &second[me], rel, rlx));
#else
  /* Locks that were taken and are given back: who finds one taken, too late, goes the long way. */
  store(locks[me], 0, rel);
  int expected = 0;
#if HOW == FAST_PATH
  if (!atomic_compare_exchange_weak_explicit(&locks[other], &expected, 1, acq, rlx)) {
#ifdef LEAK
    leaked[me] = expected;
#endif
    slow_path(&locks[other]);
  }
  store(locks[other], 0, rel);
#else
  if (atomic_compare_exchange_strong_explicit(&locks[other], &expected, 1, acq, rlx)) store(locks[other], 0, rel);
#endif
#endif
  return p;
}
int main(void) {
  run2(update, update);
  puts("done");
}

/* The work-stealing queue of Chase and Lev, after Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013), one owner
 * and one thief. As published it is not robust. FENCED: with more fences it is. */
#include "run.h"
#define SIZE 16
atomic_long top, bottom;
atomic_long items[SIZE];
#ifdef FENCED
#define FULL fence(sc)
#else
#define FULL
#endif
static void push(long item) {
  long b = load(bottom, rlx);
  load(top, acq);
  FULL;
  store(items[b % SIZE], item, rlx);
  FULL;
  fence(rel);
  store(bottom, b + 1, rlx);
  FULL;
}
static long take(void) {
  long b = load(bottom, rlx) - 1;
  FULL;
  store(bottom, b, rlx);
  fence(sc);
  long t = load(top, rlx);
  FULL;
  long item = -1;
  if (t <= b) {
    item = load(items[b % SIZE], rlx);
    FULL;
    if (t == b) {
      if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, sc, rlx)) item = -1;
      FULL;
      store(bottom, b + 1, rlx);
    }
  } else {
    store(bottom, b + 1, rlx);
  }
  FULL;
  return item;
}
static long steal(void) {
  long t = load(top, acq);
  fence(sc);
  long b = load(bottom, acq);
  FULL;
  if (t >= b) return -1;
  long item = load(items[t % SIZE], rlx);
  FULL;
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, sc, rlx)) item = -1;
  FULL;
  return item;
}
atomic_long taken;
static void *owner(void *p) {
  long sum = 0;
  for (long i = 0; i < 30; i++) {
    push(i);
    push(i);
    long item = take();
    if (item >= 0) sum++;
    item = take();
    if (item >= 0) sum++;
  }
  atomic_fetch_add_explicit(&taken, sum, sc);
  return p;
}
static void *thief(void *p) {
  long sum = 0;
  for (int i = 0; i < 60; i++)
    if (steal() >= 0) sum++;
  atomic_fetch_add_explicit(&taken, sum, sc);
  return p;
}
int main(void) {
  run2(owner, thief);
  printf("%d\n", load(taken, sc) <= 60);
}

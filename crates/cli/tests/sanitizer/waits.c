/* Two threads that wait for each other, in loops that read more than the flag: LOOP says which. A stale flag makes
 * them wait, and no harm is done. With EARLY, a stale flag ends the waiting, and that is reported. */
#include "run.h"
#include <sched.h>
#include <time.h>
#define FIELD 0
#define RING 1
#define BACKOFF 2
#define MIXED 3
#define CACHED 4
struct side {
  int want;
  atomic_uint flag;
  atomic_uint ring[4];
};
static struct side sides[2] = {{1}, {1}};
static struct side *volatile at[2] = {&sides[0], &sides[1]};
unsigned size = 4, step = 5;
unsigned seen[2] = {7, 7};
volatile double weight = 2.5;
struct pair {
  long a, b, c, d;
};
static void *meet(void *p) {
  long me = (long)p;
  store(sides[me].flag, 1, rlx);
  store(sides[me].ring[1], 1, rlx);
  struct side *other = at[1 - me];
#ifdef EARLY
#define DONE(value) ((value) == 0)
#else
#define DONE(value) ((value) == other->want)
#endif
#if LOOP == FIELD
  while (!DONE(load(other->flag, rlx))) {
  }
#elif LOOP == RING
  /* An index is computed, with a multiplication, a division and a rotation. */
  while (!DONE(load(other->ring[(step * size + 1) % size], rlx))) {
    other = at[1 - me];
  }
#elif LOOP == BACKOFF
  for (unsigned delay = 1; !DONE(load(other->flag, rlx));) {
    for (unsigned i = delay; i != 0; i--) __asm__ volatile("pause");
    delay = delay < 64 ? delay + delay : delay;
    if (delay == 64) sched_yield();
  }
#elif LOOP == CACHED
  /* A copy of the flag, which is asked again when it does not do. */
  while (!DONE(seen[me])) {
    seen[me] = load(other->flag, rlx);
  }
#else
  /* Numbers with a point, and copies that compilers make with wide registers. */
  struct pair from = {step, 2, 3, 4}, to = {0, 0, 0, 0};
  do {
    double heavy = weight * 3;
    to = from;
    __asm__ volatile("" : : "r"(&to), "r"(&from), "x"(heavy) : "memory");
  } while (!DONE(load(other->flag, rlx)));
#endif
  return p;
}
int main(void) {
#ifdef EARLY
  /* Who finds the flag set waits for ever. */
  pthread_t s, t;
  pthread_create(&s, 0, meet, (void *)0);
  pthread_create(&t, 0, meet, (void *)1);
  struct timespec soon = {0, 200000000};
  nanosleep(&soon, 0);
  puts("done");
  exit(0);
#else
  run2(meet, meet);
  puts("done");
#endif
}

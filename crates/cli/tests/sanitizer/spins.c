/* Threads that wait for each other in loops with several accesses: whoever goes on, somebody else must get a turn
 * eventually. LOOP says how they wait. */
#include "run.h"
#define SEQLOCK 0
#define WRITING 1
#define PLAIN 2
static atomic_int sequence = 1, a, b, noise, done;
volatile int plain;
static void *writer(void *p) {
  store(a, 1, rel);
  store(b, 1, rel);
  store(sequence, 2, rel);
  atomic_fetch_add(&done, 1);
  plain = 1;
  return p;
}
static void *reader(void *p) {
#if LOOP == SEQLOCK
  int s, x, y;
  do {
    s = load(sequence, acq);
    x = load(a, acq);
    y = load(b, acq);
  } while (s & 1 || load(sequence, acq) != s);
  if (x != y) abort();
#elif LOOP == WRITING
  while (load(sequence, acq) & 1) {
    atomic_fetch_add_explicit(&noise, 1, rlx);
    load(a, rlx);
  }
#else
  /* A race, and a loop that the runtime sees nothing of. */
  while (!plain) {
  }
#endif
  atomic_fetch_add(&done, 1);
  return p;
}
int main(void) {
  run2(reader, writer);
  printf("%d\n", atomic_load(&done));
}

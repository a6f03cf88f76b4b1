/* Three threads read a word, each in a function of its own, and then one writes it, ordered with two of them. The
 * race is with the third, and it is in that one's function that it is to be shown. With BYTES, they are
 * different bytes of one word. With FIELDS, the third reads the other bytes of the word as well, in another function, before it does
 * anything that others could come after. */
#include "run.h"
#include <sched.h>
union shared {
  int word;
  char bytes[4];
} shared = {5};
static atomic_int turn, seen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void wait_for(int n) {
  while (load(turn, rlx) != n) sched_yield();
}
__attribute__((noinline)) static int first(void) {
#if defined BYTES
  shared.bytes[1] = 7;
  return 1;
#elif defined FIELDS
  return shared.bytes[1];
#else
  return shared.word;
#endif
}
__attribute__((noinline)) static int others(void) {
#ifdef FIELDS
  return shared.bytes[0] + shared.bytes[2] + shared.bytes[3];
#else
  return 0;
#endif
}
__attribute__((noinline)) static int second(void) {
#if defined BYTES
  shared.bytes[2] = 7;
  return 1;
#elif defined FIELDS
  return shared.bytes[0];
#else
  return shared.word;
#endif
}
static void *culprit(void *p) {
  int mine = first();
  mine += others();
  atomic_fetch_add_explicit(&seen, mine, rlx);
  store(turn, 1, rlx);
  return p;
}
static void *innocent(void *p) {
  wait_for(1);
  pthread_mutex_lock(&mutex);
  atomic_fetch_add_explicit(&seen, second(), rlx);
  pthread_mutex_unlock(&mutex);
  store(turn, 2, rlx);
  return p;
}
__attribute__((noinline)) static void writer(void) {
#if defined BYTES || defined FIELDS
  shared.bytes[1] = 9;
#else
  shared.word = 6;
#endif
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, culprit, 0);
  pthread_create(&b, 0, innocent, 0);
  wait_for(2);
  pthread_mutex_lock(&mutex);
  writer();
  pthread_mutex_unlock(&mutex);
  pthread_join(a, 0);
  pthread_join(b, 0);
  puts("done");
}

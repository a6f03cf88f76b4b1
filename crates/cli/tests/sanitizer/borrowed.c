/* Variables on the stack of one thread, which another comes to. HOW says what the other does with them, and whether it is
 * ordered: the owner releases between any two of its own accesses, so that each of them is noted. */
#include "run.h"
#include <sched.h>
#include <string.h>
#define WRITE 0
#define READ 1
#define ATOMIC 2
#define FILL 3
#ifndef HOW
#define HOW WRITE
#endif
#define ROUNDS 300
struct lent {
  pthread_mutex_t mutex;
  atomic_int released, came;
  int word, words[64];
};
static _Atomic(struct lent *) offer;
static atomic_long sum;
/* A function of its own: clang 14 takes fields of a variable for unshared where only the whole variable is handed out. */
__attribute__((noinline)) static void use(struct lent *mine, int i) {
  mine->word++;
  mine->words[i % 64]++;
  store(mine->released, i, rel);
}
static void *owner(void *p) {
  struct lent mine = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  for (int i = 0; i < ROUNDS; i++) {
    use(&mine, i);
  }
  store(offer, &mine, rel);
#ifdef WAITS
  while (!load(mine.came, acq)) sched_yield();
#endif
  for (int i = 0; i < ROUNDS; i++) {
#ifdef FIXED
    pthread_mutex_lock(&mine.mutex);
#endif
    use(&mine, i);
#ifdef FIXED
    pthread_mutex_unlock(&mine.mutex);
#endif
  }
  while (!load(mine.came, acq)) sched_yield();
  atomic_fetch_add(&sum, mine.word + mine.words[3]);
  return p;
}
static void *guest(void *p) {
  struct lent *theirs;
  while (!(theirs = load(offer, acq))) sched_yield();
#ifdef FIXED
  pthread_mutex_lock(&theirs->mutex);
#endif
#if HOW == WRITE
  theirs->word = 7;
#elif HOW == READ
  atomic_fetch_add(&sum, theirs->words[5]);
#elif HOW == ATOMIC
  __atomic_fetch_add(&theirs->word, 1, __ATOMIC_RELAXED);
#else
  memset(theirs->words, 1, sizeof theirs->words);
#endif
#ifdef FIXED
  pthread_mutex_unlock(&theirs->mutex);
#endif
  store(theirs->came, 1, rel);
  return p;
}
int main(void) {
  run2(owner, guest);
  puts("done");
}

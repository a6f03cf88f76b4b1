/* What programs do all the time, ROUNDS times by each of two threads: atomic accesses of all kinds at many places, fences, mutexes, conditions that
 * hold, plain accesses, memory taken and given back, stacks. */
#include "run.h"
#include <sched.h>
#include <string.h>
#ifndef ROUNDS
#define ROUNDS 1000
#endif
static atomic_long counter, flag, published;
static atomic_int small[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long guarded, read_only = 5, blocks;
/* So many places that no small cache has room for all. */
#define ONE(k) \
  atomic_fetch_add_explicit(&small[k % 64], 1, rlx); \
  sum += load(small[k % 64], acq) + read_only;
#define FOUR(k) ONE(k) ONE(k + 1) ONE(k + 2) ONE(k + 3)
#define MANY(k) FOUR(k) FOUR(k + 4) FOUR(k + 8) FOUR(k + 12)
static long places(void) {
  long sum = 0;
  MANY(0) MANY(16) MANY(32) MANY(48)
  return sum;
}
__attribute__((noinline)) static long deeper(int depth) {
  return depth == 0 ? places() : deeper(depth - 1) + depth;
}
static void *work(void *p) {
  long sum = 0, expected;
  for (int i = 0; i < ROUNDS; i++) {
    int mine[8] = {i};
    /* 32 stacks with 256 places each. */
    sum += deeper(i % 32);
    atomic_fetch_add_explicit(&counter, 1, acq_rel);
    atomic_fetch_or(&flag, 2);
    expected = load(published, acq);
    atomic_compare_exchange_weak_explicit(&published, &expected, i, acq_rel, rlx);
    store(flag, i, rel);
    fence(rel);
    fence(sc);
    pthread_mutex_lock(&mutex);
    guarded += i;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    sum += guarded > 0 ? read_only : 0;
    pthread_rwlock_unlock(&rwlock);
    long *block = malloc(16 * sizeof *block);
    memset(block, 1, 16 * sizeof *block);
    sum += block[i % 16] + mine[i % 8];
    free(block);
  }
  pthread_mutex_lock(&mutex);
  blocks += sum;
  pthread_mutex_unlock(&mutex);
  return p;
}
int main(void) {
  run2(work, work);
  puts("done");
}

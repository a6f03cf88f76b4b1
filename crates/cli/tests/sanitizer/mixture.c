/* Accesses of all kinds in a random order: threads load, store, update, fence, lock, read and write plain data, by
 * numbers that depend on the first argument. Most accesses repeat what their thread did before, as in real programs. */
#include "run.h"
#define WORDS 4
static atomic_int words[WORDS];
static atomic_uchar bytes[WORDS];
static volatile int data[WORDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long seed;
static int sum;
static unsigned long next(unsigned long *state) {
  *state = *state * 6364136223846793005ul + 1442695040888963407ul;
  return *state >> 33;
}
static void *mix(void *p) {
  unsigned long state = seed * 31 + (unsigned long)p * 7919 + 1;
  int found = 0, at = 0;
  for (int k = 0; k < 60; k++) {
    unsigned long what = next(&state);
    if (what % 3 == 0) at = what / 3 % WORDS;
    int old = 0;
    switch (what / 64 % 24) {
      case 0: found += load(words[at], rlx); break;
      case 1: found += load(words[at], acq); break;
      case 2: found += load(words[at], sc); break;
      case 3: store(words[at], k, rlx); break;
      case 4: store(words[at], k, rel); break;
      case 5: store(words[at], k, sc); break;
      case 6: found += atomic_fetch_add_explicit(&words[at], 1, rlx); break;
      case 7: found += atomic_exchange_explicit(&words[at], k, acq_rel); break;
      case 8: found += atomic_compare_exchange_strong_explicit(&words[at], &old, k, acq, rlx); break;
      case 9: fence(rel); break;
      case 10: fence(acq); break;
      case 11: fence(sc); break;
      case 12: found += data[at]; break;
      case 13: data[at] = k; break;
      case 14:
        pthread_mutex_lock(&mutex);
        found += data[0];
        data[0] = k;
        pthread_mutex_unlock(&mutex);
        break;
      case 15: found += load(bytes[at], rlx) + load(bytes[at], rlx); break;
      case 16: store(bytes[at], k, rel); store(bytes[at], k + 1, rel); break;
      case 17: *(volatile int *)&words[at] = k; break;
      case 18: found += *(volatile int *)&words[at]; break;
      default: found += load(words[at], rlx) + load(words[at], acq); store(words[(at + 1) % WORDS], found, rlx);
    }
  }
  pthread_mutex_lock(&mutex);
  sum += found;
  pthread_mutex_unlock(&mutex);
  return p;
}
int main(int count, char **arguments) {
  seed = count > 1 ? atol(arguments[1]) : 0;
  run_n(3, mix);
  printf("%d\n", sum);
}

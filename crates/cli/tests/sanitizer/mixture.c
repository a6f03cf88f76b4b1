/* Accesses of all kinds in a random order: threads load, store, update, fence, lock, read and write plain data, by
 * numbers that depend on the first argument. Most accesses repeat what their thread did before, as in real programs.
 * Words are given back and taken again, halves of words are accessed, signal handlers come in between, threads come and
 * go, and one of them makes a copy of the process. */
#include "run.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#define WORDS 4
static atomic_int words[WORDS];
static atomic_uchar bytes[WORDS];
static union { atomic_ulong whole; atomic_uint halves[2]; } parts[2];
static _Atomic(atomic_long *) block;
static volatile int data[WORDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long seed;
static int sum;
static unsigned long next(unsigned long *state) {
  *state = *state * 6364136223846793005ul + 1442695040888963407ul;
  return *state >> 33;
}
static void handler(int signal) {
  store(words[1], load(words[0], acq) + 1, rlx);
  (void)load(words[1], rlx);
  (void)load(bytes[0], acq);
}
static void *guest(void *p) {
  store(words[(long)p % WORDS], load(words[0], rlx), rel);
  store(words[(long)p % WORDS], load(words[0], acq), rel);
  return p;
}
static int once(unsigned long what, int k, int at) {
  int found = 0, old = 0;
  atomic_long *mine;
  switch (what / 64 % 36) {
    case 0: return load(words[at], rlx);
    case 1: return load(words[at], acq);
    case 2: return load(words[at], sc);
    case 3: store(words[at], k, rlx); break;
    case 4: store(words[at], k, rel); break;
    case 5: store(words[at], k, sc); break;
    case 6: return atomic_fetch_add_explicit(&words[at], 1, rlx);
    case 7: return atomic_exchange_explicit(&words[at], k, acq_rel);
    case 8: return atomic_compare_exchange_strong_explicit(&words[at], &old, k, acq, rlx);
    case 9: fence(rel); break;
    case 10: fence(acq); break;
    case 11: fence(sc); break;
    case 12: return data[at];
    case 13: data[at] = k; break;
    case 14:
      pthread_mutex_lock(&mutex);
      found = data[0];
      data[0] = k;
      pthread_mutex_unlock(&mutex);
      return found;
    case 15: return load(bytes[at], rlx) + load(bytes[at], rlx);
    case 16: store(bytes[at], k, rel); store(bytes[at], k + 1, rel); break;
    case 17: *(volatile int *)&words[at] = k; break;
    case 18: return *(volatile int *)&words[at];
    case 19: store(words[at], k, rlx); found = load(words[at], rlx); __asm__ volatile("mfence" ::: "memory"); return found + load(words[(at + 1) % WORDS], rlx);
    case 20: found = load(words[at], acq); __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc"); return found + load(words[(at + 1) % WORDS], acq);
    case 21: return load(parts[at % 2].whole, acq);
    case 22: store(parts[at % 2].halves[k % 2], k, rel); break;
    case 23: store(parts[at % 2].whole, k, rlx); return load(parts[at % 2].whole, rlx);
    case 24: raise(SIGUSR1); break;
    case 25:
      mine = malloc(sizeof *mine);
      store(*mine, k, rlx);
      mine = atomic_exchange_explicit(&block, mine, acq_rel);
      if (mine) { found = load(*mine, rlx); store(*mine, found, rlx); free((void *)mine); }
      return found;
    case 26: mine = load(block, acq); return mine == 0;
    case 27: {
      pthread_t t;
      if (pthread_create(&t, 0, guest, (void *)(long)k)) abort();
      if (k % 2) pthread_join(t, 0); else pthread_detach(t);
      break;
    }
    case 28: store(words[at], load(words[at], rlx) + 1, rel); fence(sc); return load(words[at], acq) + load(words[at], sc);
    case 29: fence(sc); found = load(words[at], rlx); fence(sc); return found + load(words[at], acq);
    case 30: {
      atomic_int here = k;
      found = load(here, rlx);
      store(here, found + at, rlx);
      return load(here, acq);
    }
    default: found = load(words[at], rlx) + load(words[at], acq); store(words[(at + 1) % WORDS], found, rlx);
  }
  return found;
}
static void *mix(void *p) {
  unsigned long state = seed * 31 + (unsigned long)p * 7919 + 1;
  int found = 0, at = 0;
  for (int k = 0; k < 60; k++) {
    unsigned long what = next(&state);
    if (what % 3 == 0) at = what / 3 % WORDS;
    found += once(what, k, at);
  }
#ifndef NOFORK
  if (seed % 4 == 0 && (long)p == 1) {
    pid_t child = fork();
    if (child == 0) { for (int k = 0; k < 8; k++) { unsigned long what = next(&state); if (what / 64 % 36 != 14 && what / 64 % 36 != 27) once(what, k, k % WORDS); } _exit(0); }
    waitpid(child, 0, 0);
  }
#endif
  pthread_mutex_lock(&mutex);
  sum += found;
  pthread_mutex_unlock(&mutex);
  return p;
}
int main(int count, char **arguments) {
  seed = count > 1 ? atol(arguments[1]) : 0;
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, 0);
  run_n(3, mix);
  printf("%d\n", sum);
}

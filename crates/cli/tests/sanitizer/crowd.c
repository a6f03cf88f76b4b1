/* Many threads, few locations, and everything that must not find the runtime holding a lock: a process that
 * forks while others are at it, signal handlers with atomics, memory that comes and goes. Nothing is wrong
 * with any of it. */
#include "run.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define THREADS 8
#define ROUNDS 4000
#define FORKS 10
atomic_int counters[4], ticks, finished;
_Atomic(atomic_int *) slot;
static void tick(int signal) { atomic_fetch_add_explicit(&ticks, 1, rlx); }
static void *work(void *p) {
  long me = (long)p;
  for (int i = 0; i < ROUNDS; i++) {
    atomic_fetch_add_explicit(&counters[(i + me) % 4], 1, i % 2 ? sc : acq_rel);
    if (i % 16 == 0) atomic_thread_fence(i % 32 ? rel : sc);
    if (i % 8 == 0) {
      atomic_int *mine = malloc(sizeof *mine);
      atomic_init(mine, i);
      atomic_int *old = atomic_exchange_explicit(&slot, mine, acq_rel);
      if (old && atomic_load_explicit(old, rlx) % 8) abort();
      free(old);
    }
  }
  atomic_fetch_add_explicit(&finished, 1, acq_rel);
  return p;
}
int main(void) {
  pthread_t t[THREADS], one;
  signal(SIGALRM, tick);
  struct itimerval often = {{0, 1000}, {0, 1000}};
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, (void *)i);
  setitimer(ITIMER_REAL, &often, 0);
  int well = 0;
  for (int i = 0; i < FORKS; i++) {
    pid_t child = fork();
    if (child == 0) {
      for (int n = 0; n < 4; n++) atomic_fetch_add_explicit(&counters[n], 1, sc);
      atomic_thread_fence(sc);
      pthread_create(&one, 0, work, 0);
      pthread_join(one, 0);
      _exit(7);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) continue;
    well += WIFEXITED(status) && WEXITSTATUS(status) == 7;
  }
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  int sum = 0;
  for (int i = 0; i < 4; i++) sum += load(counters[i], rlx);
  printf("%d %d\n", sum, well);
  free(atomic_load_explicit(&slot, rlx));
}

/* What makes a runtime stumble: pthread_exit, cancellation, longjmp, signal handlers with atomics, fork,
 * detached threads, many threads one after the other. Nothing is wrong with any of it. */
#include "run.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
atomic_int ticks, done;
jmp_buf back;
static void tick(int signal) { atomic_fetch_add_explicit(&ticks, 1, rlx); }
static void *exits(void *p) {
  atomic_fetch_add_explicit(&done, 1, rel);
  pthread_exit((void *)7);
}
static void *waits(void *p) {
  for (;;) usleep(1000);
}
static void *detached(void *p) {
  atomic_fetch_add_explicit(&done, 1, rel);
  return 0;
}
__attribute__((noinline)) static void deep(int depth) {
  if (depth == 0) longjmp(back, 1);
  deep(depth - 1);
}
int main(void) {
  pthread_t t;
  void *result;
  pthread_create(&t, 0, exits, 0);
  pthread_join(t, &result);
  printf("%ld\n", (long)result);
  pthread_create(&t, 0, waits, 0);
  pthread_cancel(t);
  pthread_join(t, &result);
  printf("%d\n", result == PTHREAD_CANCELED);
  for (int i = 0; i < 100; i++)
    if (setjmp(back) == 0) deep(50);
  signal(SIGALRM, tick);
  for (int i = 0; i < 50; i++) {
    raise(SIGALRM);
    atomic_fetch_add_explicit(&done, 0, acq_rel);
  }
  printf("%d\n", load(ticks, rlx));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    pthread_create(&t, 0, exits, 0);
    pthread_join(t, 0);
    _exit(9);
  }
  int status;
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  for (int i = 0; i < 300; i++) {
    pthread_create(&t, 0, exits, 0);
    pthread_join(t, 0);
  }
  for (int i = 0; i < 20; i++) {
    pthread_create(&t, 0, detached, 0);
    pthread_detach(t);
  }
  while (load(done, acq) < 321) usleep(1000);
  char text[32];
  memset(text, 'x', sizeof text);
  memcpy(text, "copied", 7);
  puts(text);
}

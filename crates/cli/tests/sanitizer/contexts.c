/* A coroutine whose stack is an array on the stack of the thread that begins it. Another thread resumes it, and the first one once more:
 * ordered with each other, or with RACE only after each other. With FORKED, all that happens in the child of a thread that had others
 * beside it, and whose stack others came to. */
#include "run.h"
#include <sched.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef RACE
#define GIVE rlx
#define TAKE rlx
#else
#define GIVE rel
#define TAKE acq
#endif
#define ROUNDS 50
static ucontext_t coroutine, resumer;
static atomic_int turn, released;
static int total;
__attribute__((noinline)) static void step(int *mine, int i) {
  mine[i % 4]++;
  /* What comes next is noted anew. */
  store(released, i, rel);
}
static void body(void) {
  int mine[4] = {0};
  for (int i = 0;; i++) {
    for (int k = 0; k < ROUNDS; k++) step(mine, k);
    total = mine[0] + mine[1] + mine[2] + mine[3];
    swapcontext(&coroutine, &resumer);
  }
}
static void *owner(void *p) {
  char stack[1 << 15];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = sizeof stack;
  makecontext(&coroutine, body, 0);
  swapcontext(&resumer, &coroutine);
  store(turn, 1, GIVE);
  while (load(turn, TAKE) != 2) sched_yield();
  swapcontext(&resumer, &coroutine);
  return p;
}
static void *guest(void *p) {
  while (load(turn, TAKE) != 1) sched_yield();
  swapcontext(&resumer, &coroutine);
  store(turn, 2, GIVE);
  return p;
}
#ifdef FORKED
static atomic_int over;
static void *beside(void *p) {
  int mine[64] = {0};
  for (int i = 0; !load(over, acq); i++) step(&mine[i % 60], i);
  return p;
}
static void *forks(void *p) {
  pthread_t other;
  int mine[64] = {0};
  for (int i = 0; i < ROUNDS; i++) step(&mine[i % 60], i);
  pthread_create(&other, 0, beside, 0);
  pid_t child = fork();
  if (child == 0) {
    run2(owner, guest);
    _exit(total == 3 * ROUNDS ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  /* Findings have an exit status of their own. */
  if (WIFEXITED(status) && WEXITSTATUS(status) != 1) total = 3 * ROUNDS;
  for (int i = 0; i < ROUNDS; i++) step(&mine[i % 60], i);
  store(over, 1, rel);
  pthread_join(other, 0);
  return p;
}
#endif
int main(void) {
#ifdef FORKED
  pthread_t thread;
  pthread_create(&thread, 0, forks, 0);
  pthread_join(thread, 0);
#else
  run2(owner, guest);
#endif
  printf("%d\n", total);
}

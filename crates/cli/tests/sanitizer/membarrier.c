/* Asymmetric fences: a reader of data says that it comes and goes, with relaxed accesses and no fence, and who takes the data away
 * makes the system put a barrier into all threads (`membarrier`). WITHOUT: without that. LATER: the reader looks once more, after
 * the barriers and before what they were for, so that they do not order it. */
#include "run.h"
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int inside, closed, stage;
static int data = 1;
static void barrier_everywhere(void) {
#ifndef WITHOUT
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}
static void *reader(void *p) {
  long sum = 0;
  for (int i = 0; i < 1000; i++) {
    store(inside, 1, rlx);
    if (!load(closed, rlx)) sum += data;
    store(inside, 0, rlx);
  }
#ifdef LATER
  while (load(stage, rlx) != 1) sched_yield();
  sum += data;
  store(stage, 2, rlx);
#endif
  return (void *)sum;
}
static void *remover(void *p) {
  store(closed, 1, rlx);
  barrier_everywhere();
  while (load(inside, rlx)) sched_yield();
  barrier_everywhere();
#ifdef LATER
  store(stage, 1, rlx);
  while (load(stage, rlx) != 2) sched_yield();
#endif
  data = 0;
  return p;
}
int main(void) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0)) {
    puts("there is no membarrier");
    return 0;
  }
  run2(reader, remover);
  puts("done");
}

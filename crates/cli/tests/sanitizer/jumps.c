/* A thread that leaves accesses by siglongjmp, because there is no such memory. It is analysed as before, and nobody waits for what it
 * held: another thread uses atomics all the time, and the store buffering at the end is found. */
#include "run.h"
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
static sigjmp_buf back;
static volatile sig_atomic_t jumps;
static atomic_int *nowhere;
static atomic_int x, y, shared[4], over;
static void *left(void *p) {
  store(x, 1, rlx);
  (void)load(y, rlx);
  return p;
}
static void *right(void *p) {
  store(y, 1, rlx);
  (void)load(x, rlx);
  return p;
}
static void *busy(void *p) {
  for (int i = 0; !load(over, rlx); i++) atomic_fetch_add_explicit(&shared[i % 4], 1, memory_order_acq_rel);
  return p;
}
static void leave(int signal) {
  (void)signal;
  jumps++;
  siglongjmp(back, 1);
}
static void catch(int signal) {
  struct sigaction action = {.sa_handler = leave};
  sigaction(signal, &action, 0);
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, busy, 0);
  nowhere = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  catch(SIGSEGV);
  while (jumps < 400) {
    if (sigsetjmp(back, 1)) continue;
    int expected = 1;
    switch (jumps % 4) {
      case 0: (void)load(*nowhere, rlx); break;
      case 1: store(*nowhere, 1, memory_order_seq_cst); break;
      case 2: atomic_fetch_add_explicit(nowhere, 1, rlx); break;
      default: atomic_compare_exchange_strong(nowhere, &expected, 2);
    }
    abort();
  }
  store(over, 1, rlx);
  pthread_join(thread, 0);
  for (int i = 0; i < 4; i++) atomic_fetch_add(&shared[i], 1);
  /* The one who jumped is one of the two. */
  pthread_create(&thread, 0, right, 0);
  left(0);
  pthread_join(thread, 0);
  puts("done");
}

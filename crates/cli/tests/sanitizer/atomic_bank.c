/* Deposits, each marked as a transaction, protected in five ways. What is protected is whole; with BROKEN, each
 * deposit lets go between reading and writing. KILLED dies in the middle of one more, ENDLESS never ends. */
#include "run.h"
#include <signal.h>
#include <fencepost.h>

static long balance;

#if defined(SPIN)
static atomic_int held;
static void lock(void) { while (atomic_exchange_explicit(&held, 1, acq)) ; }
static void unlock(void) { store(held, 0, rel); }
#elif defined(CAS)
static atomic_int held;
static void lock(void) {
  int free = 0;
  while (!atomic_compare_exchange_strong_explicit(&held, &free, 1, acq, rlx)) free = 0;
}
static void unlock(void) { store(held, 0, rel); }
#elif defined(TICKET)
static atomic_int next_ticket, serving;
static void lock(void) {
  int mine = atomic_fetch_add_explicit(&next_ticket, 1, rlx);
  while (load(serving, acq) != mine) ;
}
static void unlock(void) { store(serving, load(serving, rlx) + 1, rel); }
#elif defined(MUTEX)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
#endif

#ifdef FETCH_ADD
static atomic_long count;
static void add(void) {
#ifdef BROKEN
  long old = load(count, acq);
  store(count, old + 1, rel);
#else
  atomic_fetch_add_explicit(&count, 1, acq_rel);
#endif
}
#else
static void add(void) {
  lock();
  long old = balance;
#ifdef BROKEN
  unlock();
  lock();
#endif
  balance = old + 1;
  unlock();
}
#endif

static void *deposit(void *p) {
  for (int i = 0; i < 4; i++) {
    fencepost_begin_named("deposit");
    add();
    fencepost_end();
  }
  return p;
}

int main(void) {
  run2(deposit, deposit);
#if defined(KILLED)
  fencepost_begin_named("last");
  add();
  raise(SIGKILL);
#elif defined(ENDLESS)
  for (;;) deposit(0);
#endif
#ifdef FETCH_ADD
  balance = load(count, rlx);
#endif
  return balance > 8;
}

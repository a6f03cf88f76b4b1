/* Four locks, all correct: TICKET, TTAS, MCS, CLH. */
#include "run.h"
#include <sched.h>
#define N 3
#define TIMES 50
int data;
#if defined(TICKET)
atomic_uint next, serving;
static void *lock(long me) {
  unsigned mine = atomic_fetch_add_explicit(&next, 1, rlx);
  while (load(serving, acq) != mine) sched_yield();
  return 0;
}
static void unlock(long me, void *held) { store(serving, load(serving, rlx) + 1, rel); }
#elif defined(TTAS)
atomic_int taken;
static void *lock(long me) {
  for (;;) {
    while (load(taken, rlx)) sched_yield();
    if (!atomic_exchange_explicit(&taken, 1, acq)) return 0;
  }
}
static void unlock(long me, void *held) { store(taken, 0, rel); }
#elif defined(CAS)
atomic_int taken;
static void *lock(long me) {
  int expected = 0;
  while (!atomic_compare_exchange_strong_explicit(&taken, &expected, 1, acq, rlx)) {
    expected = 0;
    sched_yield();
  }
  return 0;
}
static void unlock(long me, void *held) { store(taken, 0, rel); }
#elif defined(MCS)
struct node {
  _Atomic(struct node *) next;
  atomic_int waiting;
} nodes[N];
_Atomic(struct node *) tail;
static void *lock(long me) {
  struct node *mine = &nodes[me];
  store(mine->next, (struct node *)0, rlx);
  store(mine->waiting, 1, rlx);
  struct node *before = atomic_exchange_explicit(&tail, mine, acq_rel);
  if (before) {
    store(before->next, mine, rel);
    while (load(mine->waiting, acq)) sched_yield();
  }
  return mine;
}
static void unlock(long me, void *held) {
  struct node *mine = held;
  if (!load(mine->next, acq)) {
    struct node *expected = mine;
    if (atomic_compare_exchange_strong_explicit(&tail, &expected, (struct node *)0, rel, rlx)) return;
    while (!load(mine->next, acq)) sched_yield();
  }
  store(load(mine->next, rlx)->waiting, 0, rel);
}
#else /* CLH */
struct node {
  atomic_int waiting;
} nodes[N + 1];
struct node *own[N] = {&nodes[0], &nodes[1], &nodes[2]};
_Atomic(struct node *) tail = &nodes[N];
static void *lock(long me) {
  store(own[me]->waiting, 1, rlx);
  struct node *before = atomic_exchange_explicit(&tail, own[me], acq_rel);
  while (load(before->waiting, acq)) sched_yield();
  return before;
}
static void unlock(long me, void *held) {
  store(own[me]->waiting, 0, rel);
  own[me] = held;
}
#endif
static void *work(void *p) {
  for (int i = 0; i < TIMES; i++) {
    void *held = lock((long)p);
    data++;
    unlock((long)p, held);
  }
  return 0;
}
int main(void) {
  run_n(N, work);
  printf("%d\n", data);
}

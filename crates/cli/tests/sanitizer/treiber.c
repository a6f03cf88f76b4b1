/* A stack whose nodes are freed and used again: no report may come of an address's earlier life. Nodes are
 * kept from being freed too early by a lock around pop. */
#include "run.h"
struct node {
  _Atomic(struct node *) next;
  atomic_int seen;
  int value;
};
_Atomic(struct node *) head;
pthread_mutex_t popping = PTHREAD_MUTEX_INITIALIZER;
static void push(int value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  atomic_init(&node->seen, 0);
  struct node *old = load(head, acq);
  do {
    store(node->next, old, rlx);
  } while (!atomic_compare_exchange_weak_explicit(&head, &old, node, acq_rel, acq));
}
static int pop(void) {
  pthread_mutex_lock(&popping);
  struct node *old = load(head, acq);
  while (old && !atomic_compare_exchange_weak_explicit(&head, &old, load(old->next, rlx), acq_rel, acq)) {
  }
  pthread_mutex_unlock(&popping);
  if (!old) return -1;
  atomic_fetch_add_explicit(&old->seen, 1, rlx);
  int value = old->value;
  free(old);
  return value;
}
static void *work(void *p) {
  for (int i = 0; i < 200; i++) {
    push(i);
    pop();
  }
  return p;
}
int main(void) {
  run_n(3, work);
  puts("done");
}

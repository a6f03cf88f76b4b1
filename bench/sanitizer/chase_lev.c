/* The work-stealing queue of Chase and Lev: an owner and a thief. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#define ROUNDS 100000
#define SIZE 1024
#define rlx memory_order_relaxed
#define acq memory_order_acquire
#define rel memory_order_release
#define sc memory_order_seq_cst
static atomic_long top, bottom, items[SIZE];
static atomic_int over;
static void push(long item) {
  long b = atomic_load_explicit(&bottom, rlx);
  (void)atomic_load_explicit(&top, acq);
  atomic_store_explicit(&items[b % SIZE], item, rlx);
  atomic_thread_fence(rel);
  atomic_store_explicit(&bottom, b + 1, rlx);
}
static long take(void) {
  long b = atomic_load_explicit(&bottom, rlx) - 1;
  atomic_store_explicit(&bottom, b, rlx);
  atomic_thread_fence(sc);
  long t = atomic_load_explicit(&top, rlx), item = -1;
  if (t <= b) {
    item = atomic_load_explicit(&items[b % SIZE], rlx);
    if (t == b) {
      if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, sc, rlx)) item = -1;
      atomic_store_explicit(&bottom, b + 1, rlx);
    }
  } else {
    atomic_store_explicit(&bottom, b + 1, rlx);
  }
  return item;
}
static long steal(void) {
  long t = atomic_load_explicit(&top, acq);
  atomic_thread_fence(sc);
  long b = atomic_load_explicit(&bottom, acq);
  if (t >= b) return -1;
  long item = atomic_load_explicit(&items[t % SIZE], rlx);
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, sc, rlx)) return -1;
  return item;
}
static void *owner(void *p) {
  for (long i = 0; i < ROUNDS; i++) {
    push(i);
    push(i);
    take();
    if (i % 2) take();
    while (atomic_load_explicit(&bottom, rlx) - atomic_load_explicit(&top, rlx) > SIZE / 2) take();
  }
  atomic_store_explicit(&over, 1, rel);
  return p;
}
static void *thief(void *p) {
  long n = 0;
  while (!atomic_load_explicit(&over, acq)) n += steal() >= 0;
  return (void *)n;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, owner, 0);
  pthread_create(&t, 0, thief, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  puts("done");
}

/* THREADS threads and one lock: a ticket lock, or with TTAS a test-and-test-and-set lock. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#define ROUNDS (200000 / THREADS)
static long data;
#ifdef TTAS
static atomic_int taken;
static void lock(void) {
  for (;;) {
    while (atomic_load_explicit(&taken, memory_order_relaxed)) sched_yield();
    if (!atomic_exchange_explicit(&taken, 1, memory_order_acquire)) return;
  }
}
static void unlock(void) { atomic_store_explicit(&taken, 0, memory_order_release); }
#else
static atomic_uint next, serving;
static void lock(void) {
  unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
  while (atomic_load_explicit(&serving, memory_order_acquire) != mine) sched_yield();
}
static void unlock(void) {
  unsigned now = atomic_load_explicit(&serving, memory_order_relaxed);
  atomic_store_explicit(&serving, now + 1, memory_order_release);
}
#endif
static void *work(void *p) {
  for (int i = 0; i < ROUNDS; i++) {
    lock();
    data++;
    unlock();
  }
  return p;
}
int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  printf("%ld\n", data);
}

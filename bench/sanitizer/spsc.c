/* A ring between one producer and one consumer, release and acquire only. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
enum { SIZE = 1024, ITEMS = 2000000 };
static long ring[SIZE];
static _Alignas(64) atomic_ulong head;
static _Alignas(64) atomic_ulong tail;
static void *produce(void *p) {
  for (unsigned long i = 0; i < ITEMS; i++) {
    while (i - atomic_load_explicit(&head, memory_order_acquire) == SIZE) sched_yield();
    ring[i % SIZE] = i;
    atomic_store_explicit(&tail, i + 1, memory_order_release);
  }
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, produce, 0);
  long sum = 0;
  for (unsigned long i = 0; i < ITEMS; i++) {
    while (atomic_load_explicit(&tail, memory_order_acquire) == i) sched_yield();
    sum += ring[i % SIZE];
    atomic_store_explicit(&head, i + 1, memory_order_release);
  }
  pthread_join(t, 0);
  printf("%ld\n", sum);
}

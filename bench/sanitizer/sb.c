/* Store buffering, over and over: two threads, two locations, fences. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#define ROUNDS 400000
static atomic_int x, y;
static void *left(void *p) {
  long sum = 0;
  for (int i = 0; i < ROUNDS; i++) {
    atomic_store_explicit(&x, i, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    sum += atomic_load_explicit(&y, memory_order_acquire);
  }
  return (void *)sum;
}
static void *right(void *p) {
  long sum = 0;
  for (int i = 0; i < ROUNDS; i++) {
    atomic_store_explicit(&y, i, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    sum += atomic_load_explicit(&x, memory_order_acquire);
  }
  return (void *)sum;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, left, 0);
  pthread_create(&t, 0, right, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  puts("done");
}

/* Another object where the first was, with as many writes and the same value: who reads it has not read it before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_int x;
static void *again(void *p) {
  usleep(100000);
  *(volatile int *)&x = 0; /* ends the first and begins the second */
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, again, 0);
  atomic_store_explicit(&x, 1, memory_order_relaxed);
  (void)atomic_load_explicit(&x, memory_order_relaxed);
  usleep(400000);
  (void)atomic_load_explicit(&x, memory_order_relaxed); /* LATE: races with the plain write */
  pthread_join(t, 0);
  puts("done");
}

/* A million atomic locations, each used a few times by two threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
enum { LOCATIONS = 1000000, ROUNDS = 2 };
static atomic_int *all;
static void *use(void *p) {
  long sum = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < LOCATIONS; i++) {
      sum += atomic_load_explicit(&all[i], memory_order_acquire);
      atomic_fetch_add_explicit(&all[i], 1, memory_order_acq_rel);
    }
  return (void *)sum;
}
int main(void) {
  all = calloc(LOCATIONS, sizeof *all);
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, use, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  long sum = 0;
  for (int i = 0; i < LOCATIONS; i++) sum += all[i];
  printf("%ld\n", sum);
}

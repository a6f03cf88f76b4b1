/* An allocator's stress test: threads allocate blocks of many sizes, use them, hand some to others and free. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { SLOTS = 64, ROUNDS = 150000, THREADS = 2 };
static _Atomic(char *) handed[SLOTS];
static void *stress(void *p) {
  unsigned long state = (unsigned long)p * 99 + 7;
  char *own[SLOTS] = {0};
  for (int i = 0; i < ROUNDS; i++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    int slot = (state >> 33) % SLOTS;
    size_t size = 8 + (state >> 40) % 500;
    if (own[slot]) {
      if (i % 4 == 0)
        own[slot] = atomic_exchange_explicit(&handed[slot], own[slot], memory_order_acq_rel);
      free(own[slot]);
    }
    own[slot] = malloc(size);
    memset(own[slot], i, size);
  }
  for (int i = 0; i < SLOTS; i++) free(own[i]);
  return p;
}
int main(void) {
  pthread_t t[THREADS];
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, stress, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  for (int i = 0; i < SLOTS; i++) free(handed[i]);
  puts("done");
}

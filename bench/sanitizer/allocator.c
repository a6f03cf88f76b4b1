/* Like an allocator: 60,000 atomic locations, updates here and there, fences now and then. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#define LOCATIONS 60000
#define ROUNDS 300000
static atomic_long slots[LOCATIONS];
static void *work(void *p) {
  uint64_t random = (uintptr_t)p * 7919 + 1;
  long sum = 0;
  for (int i = 0; i < ROUNDS; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    atomic_long *slot = &slots[(random >> 33) % LOCATIONS];
    switch (i % 4) {
      case 0: sum += atomic_load_explicit(slot, memory_order_acquire); break;
      case 1: atomic_store_explicit(slot, i, memory_order_release); break;
      case 2: atomic_fetch_add_explicit(slot, 1, memory_order_acq_rel); break;
      default: sum += atomic_load_explicit(slot, memory_order_relaxed);
    }
    if (i % 64 == 0) atomic_thread_fence(memory_order_seq_cst);
  }
  return (void *)sum;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  puts("done");
}

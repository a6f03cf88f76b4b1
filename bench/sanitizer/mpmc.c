/* A bounded queue of cells with sequence numbers, two producers and two consumers. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
enum { SIZE = 256, ITEMS = 300000, SIDES = 2 };
static struct {
  atomic_ulong sequence;
  long value;
} cells[SIZE];
static _Alignas(64) atomic_ulong in;
static _Alignas(64) atomic_ulong out;
static atomic_long sum;
static unsigned long claim(atomic_ulong *at, unsigned long ahead) {
  unsigned long position = atomic_load_explicit(at, memory_order_relaxed);
  for (;;) {
    long difference = atomic_load_explicit(&cells[position % SIZE].sequence, memory_order_acquire) - (position + ahead);
    if (difference == 0) {
      if (atomic_compare_exchange_weak_explicit(at, &position, position + 1, memory_order_relaxed, memory_order_relaxed))
        return position;
    } else {
      if (difference < 0) sched_yield();
      position = atomic_load_explicit(at, memory_order_relaxed);
    }
  }
}
static void *produce(void *p) {
  for (long i = 0; i < ITEMS; i++) {
    unsigned long position = claim(&in, 0);
    cells[position % SIZE].value = i;
    atomic_store_explicit(&cells[position % SIZE].sequence, position + 1, memory_order_release);
  }
  return p;
}
static void *consume(void *p) {
  long mine = 0;
  for (long i = 0; i < ITEMS; i++) {
    unsigned long position = claim(&out, 1);
    mine += cells[position % SIZE].value;
    atomic_store_explicit(&cells[position % SIZE].sequence, position + SIZE, memory_order_release);
  }
  atomic_fetch_add(&sum, mine);
  return p;
}
int main(void) {
  pthread_t t[2 * SIDES];
  for (unsigned long i = 0; i < SIZE; i++) cells[i].sequence = i;
  for (int i = 0; i < 2 * SIDES; i++) pthread_create(&t[i], 0, i % 2 ? consume : produce, 0);
  for (int i = 0; i < 2 * SIDES; i++) pthread_join(t[i], 0);
  printf("%ld\n", (long)sum);
}

#include "ring.h"
#include <stdatomic.h>
#include <stdlib.h>

/* The item must be there before its announcement is. */
#ifdef FIXED
#define ANNOUNCE memory_order_release
#else
#define ANNOUNCE memory_order_relaxed
#endif

struct ring {
  atomic_uint head, tail;
  unsigned size;
  long items[];
};

struct ring *ring_new(unsigned size) {
  struct ring *ring = calloc(1, sizeof *ring + size * sizeof ring->items[0]);
  if (!ring) abort();
  ring->size = size;
  return ring;
}

void ring_free(struct ring *ring) { free(ring); }

int ring_push(struct ring *ring, long item) {
  unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == ring->size) return 0;
  ring->items[tail % ring->size] = item;
  atomic_store_explicit(&ring->tail, tail + 1, ANNOUNCE);
  return 1;
}

int ring_pop(struct ring *ring, long *item) {
  unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  if (head == atomic_load_explicit(&ring->tail, memory_order_acquire)) return 0;
  *item = ring->items[head % ring->size];
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return 1;
}

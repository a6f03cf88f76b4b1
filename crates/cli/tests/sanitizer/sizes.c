/* Atomics of two sizes at one address: what is released by one is acquired by the other. With RACE, it is not
 * released. */
#include "run.h"
#include <stdint.h>
#ifdef RACE
#define out rlx
#else
#define out rel
#endif
static union {
  _Atomic uint64_t whole;
  _Atomic uint32_t half[2];
} word;
static int first, second, third;
static void *writer(void *p) {
  first = 1;
  store(word.half[0], 1, out);
  while ((load(word.whole, acq) & 2) == 0) {
  }
  second++;
  store(word.half[1], 7, out);
  third = 1;
  atomic_fetch_or_explicit(&word.whole, 4, out);
  return p;
}
static void *reader(void *p) {
  while ((load(word.whole, acq) & 1) == 0) {
  }
  first++;
  second = 1;
  atomic_fetch_or_explicit(&word.half[0], 2, out);
  while (load(word.whole, acq) >> 32 == 0) {
  }
  second++;
  while ((load(word.half[0], acq) & 4) == 0) {
  }
  third++;
  return p;
}
int main(void) {
  run2(writer, reader);
  printf("%d %d %d\n", first, second, third);
}

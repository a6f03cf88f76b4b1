/* Store buffering. FENCED: with seq_cst fences. SC: with seq_cst accesses. */
#include "run.h"
atomic_int x, y;
#if defined(SC)
#define W sc
#define R sc
#else
#define W rel
#define R acq
#endif
static void *left(void *p) {
  store(x, 1, W);
#ifdef FENCED
  fence(sc);
#endif
  int a = load(y, R);
  return (void *)(long)a;
}
static void *right(void *p) {
  store(y, 1, W);
#ifdef FENCED
  fence(sc);
#endif
  int b = load(x, R);
  return (void *)(long)b;
}
#ifndef ROUNDS
#define ROUNDS 1
#endif
int main(void) {
  for (int i = 0; i < ROUNDS; i++) run2(left, right);
  puts("done");
}

/* Message passing. Default: a relaxed flag, which is a race. FENCES: with fences only, where
 * ThreadSanitizer reports a false race. RA: with a release store and an acquire load. */
#include "run.h"
atomic_int flag;
int data;
#ifdef RA
#define W rel
#define R acq
#else
#define W rlx
#define R rlx
#endif
static void *writer(void *p) {
  data = 42;
#ifdef FENCES
  fence(rel);
#endif
  store(flag, 1, W);
  return p;
}
static void *reader(void *p) {
  while (!load(flag, R)) {
  }
#ifdef FENCES
  fence(acq);
#endif
  return (void *)(long)data;
}
int main(void) {
  run2(writer, reader);
  puts("done");
}

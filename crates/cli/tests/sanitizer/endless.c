/* Store buffering, and then nothing, until somebody ends it. */
#include "run.h"
#include <unistd.h>
atomic_int x, y;
static void *left(void *p) {
  store(x, 1, rel);
  return (void *)(long)load(y, acq);
}
static void *right(void *p) {
  store(y, 1, rel);
  return (void *)(long)load(x, acq);
}
int main(void) {
  for (int i = 0; i < 20; i++) run2(left, right);
  for (;;) pause();
}

/* A sequence lock with relaxed data. SCHEDULED: needs two switches in the right places. */
#include "run.h"
atomic_int version, a, b;
static void *writer(void *p) {
  for (int i = 1; i <= 2; i++) {
    store(version, 2 * i - 1, rlx);
    fence(rel);
    store(a, i, rlx);
    store(b, i, rlx);
    store(version, 2 * i, rel);
  }
  return p;
}
static void *reader(void *p) {
  int before = load(version, acq);
  int r = load(a, rlx);
  int s = load(b, rlx);
  fence(acq);
  int after = load(version, rlx);
  if (before == after && before % 2 == 0 && r != s) abort();
  return p;
}
int main(void) {
  run2(writer, reader);
  puts("done");
}

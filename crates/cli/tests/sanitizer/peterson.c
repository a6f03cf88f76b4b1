/* Peterson's lock, one entry each. FENCED: a seq_cst fence after each store. */
#include "run.h"
atomic_int flag[2], turn;
int data;
static void *work(void *p) {
  long me = (long)p;
  store(flag[me], 1, rel);
#ifdef FENCED
  fence(sc);
#endif
  store(turn, 1 - me, rel);
#ifdef FENCED
  fence(sc);
#endif
  while (load(flag[1 - me], acq) && load(turn, acq) == 1 - me) {
  }
  data++;
  store(flag[me], 0, rel);
  return 0;
}
int main(void) {
  run2(work, work);
  printf("%d\n", data);
}

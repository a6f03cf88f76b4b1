/* Dekker's lock. Release/acquire is not enough: both may enter, and the data race is in the critical
 * section. FENCED: a seq_cst fence after the flag is raised or lowered. SC: seq_cst accesses. */
#include "run.h"
atomic_int flag[2], turn;
int data;
#ifdef SC
#define W sc
#define R sc
#else
#define W rel
#define R acq
#endif
static void raise_flag(long me) {
  store(flag[me], 1, W);
#ifdef FENCED
  fence(sc);
#endif
}
static void *work(void *p) {
  long me = (long)p;
  for (int i = 0; i < 20; i++) {
    raise_flag(me);
    while (load(flag[1 - me], R)) {
      if (load(turn, R) != me) {
        store(flag[me], 0, W);
#ifdef FENCED
        fence(sc);
#endif
        while (load(turn, R) != me) {
        }
        raise_flag(me);
      }
    }
    data++;
    store(turn, 1 - me, W);
    store(flag[me], 0, W);
#ifdef FENCED
    fence(sc);
#endif
  }
  store(turn, 1 - me, W);
  return 0;
}
int main(void) {
  run2(work, work);
  printf("%d\n", data);
}

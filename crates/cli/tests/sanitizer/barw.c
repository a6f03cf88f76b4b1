/* The paper's BARW with V and W for the values waited for: 0,0 is not robust, 0,2 is. The thread that
 * can never go on is cut short by the other, which ends the program. */
#include "run.h"
#include <fencepost.h>
#include <unistd.h>
atomic_int x, y;
static void *left(void *p) {
  store(x, 1, rlx);
  fencepost_wait(&y, V, rlx);
  return p;
}
static void *right(void *p) {
  store(y, 1, rlx);
  fencepost_wait(&x, W, rlx);
  return p;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, left, 0);
  pthread_create(&t, 0, right, 0);
  usleep(100000);
  exit(0);
}

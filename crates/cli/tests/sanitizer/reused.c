/* Store buffering with two atomics in memory that had atomics before: another object is made there by plain
 * stores, as a pool does. With FENCED nothing is wrong. With RACING, the plain store is by one of two threads. */
#include "run.h"
#include <string.h>
struct object {
  atomic_int x, y;
  int plain;
};
static struct object *object;
static void *left(void *p) {
  store(object->x, 1, rlx);
#ifdef FENCED
  fence(sc);
#endif
  return (void *)(long)load(object->y, rlx);
}
static void *right(void *p) {
  store(object->y, 1, rlx);
#ifdef FENCED
  fence(sc);
#endif
  return (void *)(long)load(object->x, rlx);
}
static void *use(void *p) {
  /* The first life: nothing is wrong with it. */
  for (int i = 0; i < 3; i++) {
    atomic_fetch_add_explicit(&object->x, 5, acq_rel);
    atomic_fetch_add_explicit(&object->y, 5, acq_rel);
  }
  return p;
}
#ifdef RACING
static void *plainly(void *p) {
  memset((void *)&object->x, 0, sizeof object->x);
  return p;
}
#endif
int main(void) {
  static struct object pool[2];
  object = &pool[0];
  store(object->x, 3, rlx);
  store(object->y, 3, rlx);
  run2(use, use);
#ifdef RACING
  run2(use, plainly);
#else
  for (int life = 0; life < 3; life++) {
    memset((void *)object, 0, sizeof *object);
    object->plain = life;
    run2(left, right);
  }
#endif
  puts("done");
}

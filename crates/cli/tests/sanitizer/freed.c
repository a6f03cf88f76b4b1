/* An object that its last user gives back. The decrement is relaxed, so that the others' reads need not have
 * happened by then; with FIXED, it is not. GIVE says how it is given back. */
#include "run.h"
#include <sys/mman.h>
#define FREE 0
#define REALLOC 1
#define MUNMAP 2
#ifndef GIVE
#define GIVE FREE
#endif
#ifdef FIXED
#define last acq_rel
#else
#define last rlx
#endif
struct object {
  atomic_int users;
  int data[4];
};
static struct object *object;
static atomic_int sum;
static void *use(void *p) {
  atomic_fetch_add_explicit(&sum, object->data[2], rlx);
  if (atomic_fetch_sub_explicit(&object->users, 1, last) == 1) {
#if GIVE == FREE
    free(object);
#elif GIVE == REALLOC
    free(realloc(object, 4000));
#else
    munmap(object, 4096);
#endif
  }
  return p;
}
int main(void) {
#if GIVE == MUNMAP
  object = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
  object = malloc(sizeof *object);
#endif
  atomic_init(&object->users, 2);
  object->data[2] = 4;
  run2(use, use);
  printf("%d\n", atomic_load(&sum));
}

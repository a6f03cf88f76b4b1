/* Two races, one for a variable and one for a block of the heap, by two threads that one function creates. One of
 * them holds a lock that the other has not heard of. */
#include "run.h"
#include <time.h>
long table[5];
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
char *block;
__attribute__((noinline)) static char *allocate(size_t size) {
  char *made = malloc(size);
  made[0] = 1;
  return made;
}
__attribute__((noinline)) static void locked(long value) {
  pthread_mutex_lock(&guard);
  table[1] = value;
  pthread_mutex_unlock(&guard);
}
static void *first(void *p) {
  block[16] = 1;
  table[1] = 1;
  return p;
}
static void *second(void *p) {
  /* After the other, in a way that orders nothing. */
  struct timespec soon = {0, 100000000};
  nanosleep(&soon, 0);
  block[16] = 2;
  locked(2);
  return p;
}
__attribute__((noinline)) static pthread_t begin(void *(*what)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, 0, what, 0)) abort();
  return thread;
}
int main(void) {
  block = allocate(37);
  pthread_t one = begin(first), two = begin(second);
  pthread_join(one, 0);
  pthread_join(two, 0);
  printf("%ld %d\n", table[1], block[16]);
}

/* Prints in which order three threads took turns; one of them ends early and is waited for. */
#include "run.h"
#define STEPS 100
atomic_int next;
static int turns[3][STEPS];
static void *work(void *p) {
  long me = (long)p;
  int steps = me == 2 ? 10 : STEPS;
  for (int i = 0; i < steps; i++) turns[me][i] = atomic_fetch_add_explicit(&next, 1, acq_rel);
  return p;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++)
    if (pthread_create(&t[i], 0, work, (void *)i)) abort();
  pthread_join(t[2], 0);
  int joined = atomic_fetch_add_explicit(&next, 1, acq_rel);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  printf("%d:", joined);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < STEPS; j++) printf(" %d", turns[i][j]);
  puts("");
}

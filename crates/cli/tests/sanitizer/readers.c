/* Two threads read a word again and again, each with a mutex of its own, so that every read is by an epoch that no
 * other read has; then one that writes it races with the last read. With MANY, there is a word for every
 * read, and no race. */
#include "run.h"
#define ROUNDS 20000
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile long words[ROUNDS];
static atomic_int turn;
static void *reader(void *p) {
  long me = (long)p, sum = 0;
  for (int i = 0; i < ROUNDS; i++) {
    pthread_mutex_lock(&mutex[me]);
#ifdef MANY
    sum += words[i];
#else
    sum += words[0];
#endif
    pthread_mutex_unlock(&mutex[me]);
  }
  atomic_fetch_add_explicit(&turn, 1, rlx);
  return (void *)sum;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, reader, (void *)i);
#ifndef MANY
  while (load(turn, rlx) != 2) {
  }
  /* Ordered with the first one only. */
  pthread_mutex_lock(&mutex[0]);
  words[0] = 1;
  pthread_mutex_unlock(&mutex[0]);
#endif
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  puts("done");
}

#include "stats.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

void stats_add(long amount) {
  pthread_mutex_lock(&lock);
  sum += amount;
  pthread_mutex_unlock(&lock);
}

long stats_sum(void) {
  pthread_mutex_lock(&lock);
  long result = sum;
  pthread_mutex_unlock(&lock);
  return result;
}

/* A thread that is cancelled while it waits for a condition has the mutex in its handlers. With RACE, its handler
 * gives it back too early. */
#include "run.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int waiting, count;
static void clean(void *p) {
#ifdef RACE
  pthread_mutex_unlock(&mutex);
  count++;
#else
  count++;
  pthread_mutex_unlock(&mutex);
#endif
}
static void *waiter(void *p) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean, 0);
  waiting = 1;
  for (;;) pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(1);
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, waiter, 0);
  for (int ready = 0; !ready;) {
    pthread_mutex_lock(&mutex);
    ready = waiting;
    count++;
    pthread_mutex_unlock(&mutex);
  }
  pthread_cancel(t);
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&mutex);
    count++;
    pthread_mutex_unlock(&mutex);
  }
  pthread_join(t, 0);
  puts("done");
}

/* Everything that orders threads, used correctly; with RACE, one access without. */
#include "run.h"
#include <semaphore.h>
#include <threads.h>
#include <time.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_barrier_t barrier;
pthread_spinlock_t spin;
sem_t semaphore;
int by_mutex, by_cond, by_rwlock, by_once, by_barrier[3], by_spin, by_sem, by_c11, is_ready;
static void initialise(void) { by_once = 1; }
static void *work(void *p) {
  long me = (long)p;
  pthread_once(&once, initialise);
  for (int i = 0; i < 20; i++) {
    pthread_mutex_lock(&mutex);
    by_mutex += by_once;
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    volatile int read = by_rwlock;
    (void)read;
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    by_rwlock++;
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    by_spin++;
    pthread_spin_unlock(&spin);
    by_barrier[me]++;
    pthread_barrier_wait(&barrier);
    volatile int sum = by_barrier[0] + by_barrier[1] + by_barrier[2];
    (void)sum;
    pthread_barrier_wait(&barrier);
  }
  if (me == 0) {
    by_sem = 7;
    sem_post(&semaphore);
    pthread_mutex_lock(&mutex);
    by_cond = 1;
    is_ready = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&mutex);
  } else if (me == 1) {
    sem_wait(&semaphore);
    by_sem++;
#ifdef RACE
    by_cond++;
#endif
  } else {
    pthread_mutex_lock(&mutex);
    while (!is_ready) pthread_cond_wait(&ready, &mutex);
    pthread_mutex_unlock(&mutex);
    by_cond++;
  }
  return 0;
}
static int c11(void *p) {
  by_c11++;
  return 5;
}
int main(void) {
  pthread_barrier_init(&barrier, 0, 3);
  pthread_spin_init(&spin, 0);
  sem_init(&semaphore, 0, 0);
  run_n(3, work);
  thrd_t t;
  int result;
  thrd_create(&t, c11, 0);
  thrd_join(t, &result);
  by_c11 += result;
  printf("%d %d %d %d %d\n", by_mutex, by_rwlock, by_spin, by_sem, by_c11);
}

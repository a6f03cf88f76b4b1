/* Waiting that may give up, and joins that do: all of it orders threads when it succeeds. With RACE, one access
 * is made although the wait was in vain. */
#define _GNU_SOURCE
#include "run.h"
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore, by_clock;
static mtx_t c11;
static cnd_t c11_ready;
static int by_mutex, by_rwlock, by_sem, by_clock_sem, by_c11, by_join, is_ready;
static struct timespec soon(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  now.tv_sec += 20;
  return now;
}
static void *work(void *p) {
  long me = (long)p;
  for (int i = 0; i < 10; i++) {
    struct timespec until = soon(CLOCK_MONOTONIC), real = soon(CLOCK_REALTIME);
    if (pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until)) abort();
    by_mutex++;
    pthread_mutex_unlock(&mutex);
    if (me ? pthread_rwlock_timedwrlock(&rwlock, &real)
           : pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until))
      abort();
    by_rwlock++;
    pthread_rwlock_unlock(&rwlock);
    if (me ? pthread_rwlock_timedrdlock(&rwlock, &real)
           : pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until))
      abort();
    volatile int copy = by_rwlock;
    (void)copy;
    pthread_rwlock_unlock(&rwlock);
  }
  if (me == 0) {
    by_sem = by_clock_sem = 1;
    sem_post(&semaphore);
    sem_post(&by_clock);
    mtx_lock(&c11);
    by_c11 = is_ready = 1;
    cnd_signal(&c11_ready);
    mtx_unlock(&c11);
  } else {
    struct timespec until = soon(CLOCK_MONOTONIC), real = soon(CLOCK_REALTIME);
    if (sem_timedwait(&semaphore, &real)) abort();
    by_sem++;
    if (sem_clockwait(&by_clock, CLOCK_MONOTONIC, &until)) abort();
    by_clock_sem++;
    if (mtx_timedlock(&c11, &real) != thrd_success) abort();
    while (!is_ready)
      if (cnd_timedwait(&c11_ready, &c11, &real) == thrd_error) abort();
    by_c11++;
    mtx_unlock(&c11);
  }
  return p;
}
static void *joined(void *p) {
  by_join++;
  return p;
}
int main(void) {
  sem_init(&semaphore, 0, 0);
  sem_init(&by_clock, 0, 0);
  mtx_init(&c11, mtx_timed);
  cnd_init(&c11_ready);
  pthread_t t[3];
  pthread_create(&t[0], 0, joined, 0);
#ifdef RACE
  struct timespec past = {1, 0};
  if (pthread_timedjoin_np(t[0], 0, &past) != ETIMEDOUT) return 0;
  by_join++;
#endif
  while (pthread_tryjoin_np(t[0], 0)) sched_yield();
  pthread_create(&t[1], 0, work, (void *)0);
  struct timespec until = soon(CLOCK_MONOTONIC), real = soon(CLOCK_REALTIME);
  pthread_create(&t[2], 0, work, (void *)1);
  if (pthread_timedjoin_np(t[1], 0, &real)) abort();
  if (pthread_clockjoin_np(t[2], 0, CLOCK_MONOTONIC, &until)) abort();
  printf("%d %d %d %d %d\n", by_mutex, by_rwlock, by_sem, by_clock_sem, by_c11 + by_join);
}

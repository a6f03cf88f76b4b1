/* A lock and a queue of the program's own, which it explains to ThreadSanitizer: WAY says how. With RACE, it
 * explains nothing, and the sanitizer sees no order: the accesses are made in code that it is told to leave alone. */
#include "run.h"
void __tsan_acquire(void *);
void __tsan_release(void *);
void __tsan_mutex_create(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned);
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_destroy_fiber(void *);
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
#define EDGE 0
#define MUTEX 1
#define OLD 2
#define FIBER 3
#define BENIGN 4
static atomic_int word;
static int data;
/* What orders the threads is out of the sanitizer's sight: relaxed, and explained. */
static void lock(void) {
#if WAY == MUTEX && !defined RACE
  __tsan_mutex_pre_lock(&word, 0);
#endif
  int zero = 0;
  while (!atomic_compare_exchange_weak_explicit(&word, &zero, 1, rlx, rlx)) zero = 0;
#ifndef RACE
#if WAY == MUTEX
  __tsan_mutex_post_lock(&word, 0, 0);
#elif WAY == EDGE
  __tsan_acquire(&word);
#elif WAY == OLD
  AnnotateHappensAfter(__FILE__, __LINE__, &word);
#endif
#endif
}
static void unlock(void) {
#ifndef RACE
#if WAY == MUTEX
  __tsan_mutex_pre_unlock(&word, 0);
#elif WAY == EDGE
  __tsan_release(&word);
#elif WAY == OLD
  AnnotateHappensBefore(__FILE__, __LINE__, &word);
#endif
#endif
  store(word, 0, rlx);
#if WAY == MUTEX && !defined RACE
  __tsan_mutex_post_unlock(&word, 0);
#endif
}
static void *fiber;
static void *work(void *p) {
  for (int i = 0; i < 20; i++) {
    lock();
#if WAY == FIBER && !defined RACE
    /* The same fiber goes on in one thread after the other. */
    void *own = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber, 0);
    data++;
    __tsan_switch_to_fiber(own, 0);
#else
    data++;
#endif
    unlock();
  }
  return p;
}
int main(void) {
  fiber = __tsan_create_fiber(0);
  __tsan_mutex_create(&word, 0);
#if WAY == BENIGN && !defined RACE
  AnnotateBenignRaceSized(__FILE__, __LINE__, &data, sizeof data, "for the test");
#endif
  run2(work, work);
  __tsan_destroy_fiber(fiber);
  printf("%d\n", data);
}

/* Runs functions in threads of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define rlx memory_order_relaxed
#define acq memory_order_acquire
#define rel memory_order_release
#define acq_rel memory_order_acq_rel
#define sc memory_order_seq_cst
#define load(x, o) atomic_load_explicit(&(x), o)
#define store(x, v, o) atomic_store_explicit(&(x), v, o)
#define fence(o) atomic_thread_fence(o)

static inline void run2(void *(*a)(void *), void *(*b)(void *)) {
  pthread_t s, t;
  if (pthread_create(&s, 0, a, (void *)0) || pthread_create(&t, 0, b, (void *)1)) abort();
  pthread_join(s, 0);
  pthread_join(t, 0);
}

static inline void run_n(int n, void *(*f)(void *)) {
  pthread_t t[16];
  for (long i = 0; i < n; i++)
    if (pthread_create(&t[i], 0, f, (void *)i)) abort();
  for (int i = 0; i < n; i++) pthread_join(t[i], 0);
}

/* Plain accesses: a matrix product by rows, and a hash map with a mutex. MIXED: atomics in between. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#define N 160
#define KEYS 4096
static double a[N][N], b[N][N], c[N][N];
static struct entry {
  long key, value;
} table[2 * KEYS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_long progress;
static void put(long key) {
  pthread_mutex_lock(&mutex);
  for (unsigned long at = (unsigned long)key * 2654435761u;; at++) {
    struct entry *entry = &table[at % (2 * KEYS)];
    if (entry->key == 0 || entry->key == key) {
      entry->key = key;
      entry->value++;
      break;
    }
  }
  pthread_mutex_unlock(&mutex);
}
static void *work(void *p) {
  long me = (long)p;
  for (int i = (int)me; i < N; i += 2) {
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
#ifdef MIXED
      atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
#endif
    }
  }
  for (long i = 1; i < 60000; i++) put(i % KEYS + 1);
  return 0;
}
int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = b[i][j] = i + j;
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  printf("%.0f\n", c[1][2]);
}

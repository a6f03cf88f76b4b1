/* A server-like load: a table of buckets with a mutex each, statistics behind another, four threads. */
#include <pthread.h>
#include <stdio.h>
enum { BUCKETS = 256, REQUESTS = 250000, THREADS = 4 };
static struct {
  pthread_mutex_t lock;
  long count, sum;
} buckets[BUCKETS];
static pthread_mutex_t statistics = PTHREAD_MUTEX_INITIALIZER;
static long served;
static void *serve(void *p) {
  unsigned long state = (unsigned long)p * 77 + 1;
  for (int i = 0; i < REQUESTS; i++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    int bucket = (state >> 33) % BUCKETS;
    pthread_mutex_lock(&buckets[bucket].lock);
    buckets[bucket].count++;
    buckets[bucket].sum += i;
    pthread_mutex_unlock(&buckets[bucket].lock);
    if (i % 64 == 0) {
      pthread_mutex_lock(&statistics);
      served += 64;
      pthread_mutex_unlock(&statistics);
    }
  }
  return p;
}
int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < BUCKETS; i++) pthread_mutex_init(&buckets[i].lock, 0);
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, serve, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  printf("%ld\n", served);
}

/* Mailboxes that come and go, each with a mutex, a condition variable and words that all threads read. What the runtime
 * keeps of one must go with it: peak memory after all rounds is compared with that after the first tenth. */
#include "run.h"
#include <stdlib.h>
#include <string.h>
#define READERS 3
#define ROUNDS 40000
struct mailbox {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  int items, left;
  long words[16];
};
static struct mailbox *current;
static pthread_barrier_t begun, ended;
static long peak(void) {
  char line[128];
  long kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kilobytes);
  if (status) fclose(status);
  return kilobytes / 1024;
}
static void *reader(void *p) {
  long sum = 0;
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&begun);
    struct mailbox *box = current;
    pthread_mutex_lock(&box->lock);
    while (!box->items) pthread_cond_wait(&box->filled, &box->lock);
    for (int i = 0; i < 16; i++) sum += box->words[i];
    box->left--;
    pthread_mutex_unlock(&box->lock);
    pthread_barrier_wait(&ended);
  }
  *(long *)p = sum;
  return p;
}
int main(void) {
  pthread_t t[READERS];
  long sums[READERS], early = 0;
  pthread_barrier_init(&begun, 0, READERS + 1);
  pthread_barrier_init(&ended, 0, READERS + 1);
  for (int i = 0; i < READERS; i++) pthread_create(&t[i], 0, reader, &sums[i]);
  for (int round = 0; round < ROUNDS; round++) {
    if (round == ROUNDS / 10) early = peak();
    struct mailbox *box = current = calloc(1, sizeof *box + (round % 64) * 512);
    pthread_mutex_init(&box->lock, 0);
    pthread_cond_init(&box->filled, 0);
    box->left = READERS;
    pthread_barrier_wait(&begun);
    pthread_mutex_lock(&box->lock);
    for (int i = 0; i < 16; i++) box->words[i] = 1;
    box->items = 1;
    pthread_cond_broadcast(&box->filled);
    pthread_mutex_unlock(&box->lock);
    pthread_barrier_wait(&ended);
    if (box->left) abort();
    pthread_cond_destroy(&box->filled);
    pthread_mutex_destroy(&box->lock);
    free(box);
  }
  for (int i = 0; i < READERS; i++) pthread_join(t[i], 0);
  long grown = peak() - early;
  if (grown > 6) printf("%ld MB, then %ld MB more\n", early, grown);
  else printf("%ld\n", sums[0] + sums[1] + sums[2]);
}

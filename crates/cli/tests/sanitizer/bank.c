/* Two deposits. Each is marked as a transaction; the balance is never accessed without the lock, but only
 * WHOLE keeps it for all of the deposit. */
#include "run.h"
#include <fencepost.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;
static void *deposit(void *p) {
  fencepost_begin();
  pthread_mutex_lock(&lock);
  long old = balance;
#ifndef WHOLE
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  balance = old + 1;
  pthread_mutex_unlock(&lock);
  fencepost_end();
  return p;
}
int main(void) {
  run2(deposit, deposit);
  puts("done");
}

/* WRITES writes to one variable: what the sanitizer remembers must not grow. */
#include <stdatomic.h>
#include <stdio.h>
static atomic_long x;
int main(void) {
  for (long i = 0; i < WRITES; i++) atomic_store_explicit(&x, i, memory_order_release);
  puts("done");
}

/* Memory that is mapped where other memory was: what was done to that one does not matter. */
#include "run.h"
#include <sys/mman.h>
static char *memory;
static atomic_int turn;
static void *first(void *p) {
  for (int i = 0; i < 4096; i += 8) memory[i] = 1;
  store(turn, 1, rlx);
  return p;
}
static void *second(void *p) {
  while (!load(turn, rlx)) {
  }
  void *again = mmap(memory, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (again != memory) abort();
  for (int i = 0; i < 4096; i += 8) memory[i]++;
  return p;
}
int main(void) {
  memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run2(first, second);
  puts("done");
}

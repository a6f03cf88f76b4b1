/* Loads library.so, whose path is the first argument, and races in it. */
#include "run.h"
#include <dlfcn.h>
static void (*touch)(void);
static void *work(void *p) {
  touch();
  return p;
}
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  touch = (void (*)(void))dlsym(library, "touch");
  run2(work, work);
  puts("done");
}

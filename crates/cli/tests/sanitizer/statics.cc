// A static variable of a function, used by two threads. With RACE, both write to it; with ASIDE, one finds it
// through a pointer that it was handed without any order, past the guard.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Table {
  std::vector<int> entries;
  int uses = 0;
  Table() {
    for (int i = 0; i < 10; i++) entries.push_back(i);
  }
};

static Table &table() {
  static Table only;
  return only;
}

static std::atomic<Table *> handed{nullptr};

static void work(int me) {
#ifdef ASIDE
  if (me == 0) {
    handed.store(&table(), std::memory_order_relaxed);
  } else {
    Table *found;
    while (!(found = handed.load(std::memory_order_relaxed))) std::this_thread::yield();
    volatile int size = found->entries[3];
    (void)size;
  }
#else
  int sum = 0;
  for (int i = 0; i < 3; i++)
    for (int entry : table().entries) sum += entry;
#ifdef RACE
  table().uses += sum;
#endif
#endif
}

int main() {
  std::thread a(work, 0), b(work, 1);
  a.join();
  b.join();
  std::puts("done");
}

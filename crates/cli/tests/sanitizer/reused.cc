// The same with placement new, which makes every object of a pool where another was.
#include <atomic>
#include <cstdio>
#include <new>
#include <thread>

struct Object {
  std::atomic<int> x{0}, y{0};
  int plain = 4;
};

alignas(Object) static unsigned char pool[sizeof(Object)];

static void meet(Object *object, bool first) {
  auto &mine = first ? object->x : object->y, &theirs = first ? object->y : object->x;
  mine.store(1, std::memory_order_relaxed);
#ifdef FENCED
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  volatile int seen = theirs.load(std::memory_order_relaxed);
  (void)seen;
}

int main() {
  for (int life = 0; life < 4; life++) {
    Object *object = new (pool) Object;
    if (life == 0) {
      // The first life has one thread.
      for (int i = 1; i < 4; i++) object->x.store(i), object->y.fetch_add(i);
    } else {
      std::thread a(meet, object, true), b(meet, object, false);
      a.join();
      b.join();
    }
    object->~Object();
  }
  std::puts("done");
}

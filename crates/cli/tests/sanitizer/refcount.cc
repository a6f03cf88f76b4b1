// The last owner destroys. BROKEN: counts go down relaxed, so it races with what the others did before.
#include <atomic>
#include <cstdio>
#include <thread>
struct Counted {
  std::atomic<int> count{2};
  int value[2] = {0, 0};
};
static void use(Counted *object, int me) {
  object->value[me] = 1;
#ifdef BROKEN
  if (object->count.fetch_sub(1, std::memory_order_relaxed) == 1) {
#else
  if (object->count.fetch_sub(1, std::memory_order_release) == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    std::printf("%d\n", object->value[0] + object->value[1]);
    delete object;
  }
}
int main() {
  for (int i = 0; i < 5; i++) {
    auto *object = new Counted;
    std::thread one(use, object, 0), two(use, object, 1);
    one.join();
    two.join();
  }
}

// C++: reference counting as std::shared_ptr does it, a thread pool, function-local statics, exceptions.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Counted {
  std::atomic<int> count{1};
  int value = 0;
};
static void drop(Counted *object) {
  if (object->count.fetch_sub(1, std::memory_order_release) == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);
    static_cast<volatile int &>(object->value) = -1;
    delete object;
  }
}
class Pool {
  std::mutex mutex;
  std::condition_variable ready;
  std::queue<std::function<void()>> jobs;
  std::vector<std::thread> threads;
  bool over = false;

 public:
  explicit Pool(int n) {
    for (int i = 0; i < n; i++)
      threads.emplace_back([this] {
        for (;;) {
          std::function<void()> job;
          {
            std::unique_lock<std::mutex> lock(mutex);
            ready.wait(lock, [this] { return over || !jobs.empty(); });
            if (jobs.empty()) return;
            job = std::move(jobs.front());
            jobs.pop();
          }
          job();
        }
      });
  }
  void add(std::function<void()> job) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      jobs.push(std::move(job));
    }
    ready.notify_one();
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    ready.notify_all();
    for (auto &thread : threads) thread.join();
  }
};
static const std::string &name() {
  static const std::string text(100, 'n');
  return text;
}
static int thrown() {
  try {
    throw std::runtime_error("expected");
  } catch (const std::exception &error) {
    return static_cast<int>(std::string(error.what()).size());
  }
}
int main() {
  std::atomic<int> sum{0};
  {
    Pool pool(3);
    for (int i = 0; i < 30; i++) {
      auto *object = new Counted;
      object->count.store(3, std::memory_order_relaxed);
      auto shared = std::make_shared<int>(i);
      for (int k = 0; k < 2; k++)
        pool.add([object, shared, &sum] {
          volatile int seen = object->value;
          sum += *shared + static_cast<int>(name().size()) + thrown() + seen - seen;
          drop(object);
        });
      drop(object);
    }
  }
  std::printf("%d\n", sum.load());
}

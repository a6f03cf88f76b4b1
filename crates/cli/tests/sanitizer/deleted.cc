// The same in C++, with delete; and strings and exceptions, whose memory the standard library gives back. With
// AFTER, one thread still reads what the other has deleted.
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef FIXED
constexpr auto last = std::memory_order_acq_rel;
#else
constexpr auto last = std::memory_order_relaxed;
#endif

struct Object {
  std::atomic<int> users{2};
  int data[4] = {1, 2, 3, 4};
  std::string name = "a name that is too long for the string itself";
};

static Object *object = new Object;
static std::atomic<long> sum{0};
static std::atomic<bool> looked{false};

static void use(int me) {
#ifdef AFTER
  if (me == 0) {
    delete object;
    // A thread that ends hands what it has freed to others, for whom it is another block then.
    while (!looked.load(std::memory_order_relaxed)) {}
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sum.fetch_add(object->data[1], std::memory_order_relaxed);
    looked.store(true, std::memory_order_relaxed);
  }
#else
  sum.fetch_add(object->data[1] + object->name[5], std::memory_order_relaxed);
  if (object->users.fetch_sub(1, last) == 1) delete object;
  try {
    throw std::runtime_error("an exception with a text");
  } catch (const std::exception &error) {
    sum.fetch_add(error.what()[3], std::memory_order_relaxed);
  }
#endif
}

int main() {
  std::exception_ptr thrown;
  std::shared_ptr<std::string> text = std::make_shared<std::string>("shared by three threads, freed by one");
  std::thread a([text] { use(0); }), b([text] { use(1); });
  text.reset();
  a.join();
  b.join();
  std::thread([&] { thrown = std::make_exception_ptr(std::runtime_error("handed over")); }).join();
  std::thread([held = std::move(thrown)]() mutable {
    try {
      std::rethrow_exception(std::move(held));
    } catch (const std::runtime_error &error) {
      sum.fetch_add(error.what()[0], std::memory_order_relaxed);
    }
  }).join();
  std::printf("%d\n", sum.load() > 0);
}

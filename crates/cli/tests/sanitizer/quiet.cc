// Small programs that use what C++20 has for threads, correctly: nothing is to be found in any of them. Each is
// a function that starts threads and says whether what they did adds up; main runs one after the other.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

// Runs a function in so many threads, each with its number.
template <class F> static void in_threads(int count, F work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back(work, i);
  for (auto &thread : threads) thread.join();
}

static bool threads_are_joined() {
  std::array<int, 4> parts{};
  in_threads(4, [&](int me) { parts[me] = me + 1; });
  return parts[0] + parts[1] + parts[2] + parts[3] == 10;
}

static bool threads_that_join_themselves() {
  int sum = 0;
  {
    std::jthread first([&] { sum += 1; });
    first.join();
    std::jthread second([&] { sum += 2; });
  }
  return sum == 3;
}

static bool a_thread_is_asked_to_stop() {
  long rounds = 0;
  std::atomic<bool> begun{false};
  std::jthread worker([&](std::stop_token stop) {
    do {
      rounds++;
      begun.store(true, std::memory_order_release);
      std::this_thread::yield();
    } while (!stop.stop_requested());
  });
  while (!begun.load(std::memory_order_acquire)) std::this_thread::yield();
  worker.request_stop();
  worker.join();
  return rounds > 0;
}

static bool a_mutex() {
  std::mutex mutex;
  int count = 0;
  in_threads(3, [&](int) {
    for (int i = 0; i < 50; i++) {
      std::lock_guard<std::mutex> lock(mutex);
      count++;
    }
  });
  return count == 150;
}

static bool a_mutex_that_is_tried() {
  std::mutex mutex;
  int count = 0;
  in_threads(3, [&](int) {
    for (int i = 0; i < 20;) {
      if (!mutex.try_lock()) {
        std::this_thread::yield();
        continue;
      }
      count++, i++;
      mutex.unlock();
    }
  });
  return count == 60;
}

static bool a_recursive_mutex() {
  std::recursive_mutex mutex;
  int count = 0;
  std::function<void(int)> descend = [&](int depth) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    count++;
    if (depth > 0) descend(depth - 1);
  };
  in_threads(2, [&](int) { descend(5); });
  return count == 12;
}

static bool a_timed_mutex() {
  std::timed_mutex mutex;
  int count = 0;
  in_threads(3, [&](int me) {
    for (int i = 0; i < 10;) {
      bool taken = me == 0 ? mutex.try_lock_for(5s)
                           : mutex.try_lock_until(std::chrono::system_clock::now() + 5s);
      if (!taken) continue;
      count++, i++;
      mutex.unlock();
    }
  });
  return count == 30;
}

static bool a_recursive_timed_mutex() {
  std::recursive_timed_mutex mutex;
  int count = 0;
  in_threads(2, [&](int) {
    for (int i = 0; i < 10;) {
      if (!mutex.try_lock_for(5s)) continue;
      mutex.lock();
      count++, i++;
      mutex.unlock();
      mutex.unlock();
    }
  });
  return count == 20;
}

static bool two_mutexes_at_once() {
  std::mutex a, b;
  int first = 100, second = 0;
  in_threads(2, [&](int me) {
    for (int i = 0; i < 20; i++) {
      if (me == 0) {
        std::scoped_lock lock(a, b);
        first--, second++;
      } else {
        std::scoped_lock lock(b, a);
        first++, second--;
      }
    }
  });
  return first == 100 && second == 0;
}

static bool a_shared_mutex() {
  std::shared_mutex mutex;
  int value = 0;
  std::atomic<long> seen{0};
  in_threads(4, [&](int me) {
    for (int i = 0; i < 20; i++) {
      if (me == 0) {
        std::unique_lock lock(mutex);
        value++;
      } else {
        std::shared_lock lock(mutex);
        seen.fetch_add(value, std::memory_order_relaxed);
      }
    }
  });
  return value == 20;
}

static bool a_shared_timed_mutex() {
  std::shared_timed_mutex mutex;
  int value = 0;
  in_threads(3, [&](int me) {
    for (int i = 0; i < 10;) {
      if (me == 0) {
        if (!mutex.try_lock_for(5s)) continue;
        value++, i++;
        mutex.unlock();
      } else {
        bool taken = me == 1 ? mutex.try_lock_shared_for(5s)
                             : mutex.try_lock_shared_until(std::chrono::system_clock::now() + 5s);
        if (!taken) continue;
        volatile int copy = value;
        (void)copy, i++;
        mutex.unlock_shared();
      }
    }
  });
  return value == 10;
}

static bool a_condition_variable() {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<std::string> queue;
  size_t length = 0;
  std::thread consumer([&] {
    for (int i = 0; i < 20; i++) {
      std::unique_lock lock(mutex);
      filled.wait(lock, [&] { return !queue.empty(); });
      length += queue.front().size();
      queue.pop_front();
    }
  });
  for (int i = 0; i < 20; i++) {
    {
      std::lock_guard lock(mutex);
      queue.emplace_back("a string that does not fit into the object itself");
    }
    filled.notify_one();
  }
  consumer.join();
  return length == 20 * 49;
}

static bool a_condition_with_a_deadline() {
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  in_threads(2, [&](int me) {
    for (int i = 0; i < 10; i++) {
      std::unique_lock lock(mutex);
      while (turn % 2 != me)
        if (me == 0) changed.wait_for(lock, 1s);
        else changed.wait_until(lock, std::chrono::system_clock::now() + 1s);
      turn++;
      changed.notify_all();
    }
  });
  return turn == 20;
}

static bool a_condition_for_any_lock() {
  std::shared_mutex mutex;
  std::condition_variable_any changed;
  int value = 0, seen = 0;
  std::thread reader([&] {
    std::shared_lock lock(mutex);
    changed.wait(lock, [&] { return value != 0; });
    seen = value;
  });
  {
    std::unique_lock lock(mutex);
    value = 7;
  }
  changed.notify_all();
  reader.join();
  return seen == 7;
}

static bool something_is_called_once() {
  std::once_flag flag;
  int made = 0;
  std::array<int, 3> seen{};
  in_threads(3, [&](int me) {
    std::call_once(flag, [&] { made++; });
    seen[me] = made;
  });
  return made == 1 && seen[0] + seen[1] + seen[2] == 3;
}

static bool what_is_called_once_may_throw() {
  std::once_flag flag;
  int tries = 0, done = 0;
  in_threads(3, [&](int) {
    try {
      std::call_once(flag, [&] {
        if (tries++ == 0) throw std::runtime_error("not yet");
        done = 5;
      });
    } catch (const std::runtime_error &) {
      std::call_once(flag, [&] { done = 5; });
    }
    if (done != 5) std::terminate();
  });
  return tries <= 2;
}

static bool a_latch() {
  std::latch ready(3);
  std::array<int, 3> parts{};
  std::atomic<int> sum{0};
  in_threads(3, [&](int me) {
    parts[me] = me + 1;
    ready.arrive_and_wait();
    sum.fetch_add(parts[0] + parts[1] + parts[2], std::memory_order_relaxed);
  });
  return sum.load() == 18;
}

static bool a_barrier() {
  int phase = 0;
  std::array<int, 3> parts{};
  std::atomic<bool> wrong{false};
  std::barrier sync(3, [&]() noexcept { phase++; });
  in_threads(3, [&](int me) {
    for (int i = 0; i < 5; i++) {
      parts[me] = i;
      sync.arrive_and_wait();
      if (phase != 2 * i + 1 || parts[(me + 1) % 3] != i) wrong.store(true, std::memory_order_relaxed);
      sync.arrive_and_wait();
    }
  });
  return !wrong && phase == 10;
}

static bool a_binary_semaphore() {
  std::binary_semaphore full(0), empty(1);
  int slot = 0, sum = 0;
  std::thread consumer([&] {
    for (int i = 0; i < 20; i++) {
      full.acquire();
      sum += slot;
      empty.release();
    }
  });
  for (int i = 0; i < 20; i++) {
    empty.acquire();
    slot = i;
    full.release();
  }
  consumer.join();
  return sum == 190;
}

static bool a_counting_semaphore_with_a_deadline() {
  std::counting_semaphore<8> items(0);
  std::array<int, 8> values{};
  int sum = 0;
  std::thread consumer([&] {
    for (int i = 0; i < 8; i++) {
      while (!items.try_acquire_for(1s)) {
      }
      sum += values[i];
    }
  });
  for (int i = 0; i < 8; i++) {
    values[i] = i;
    items.release();
  }
  consumer.join();
  return sum == 28;
}

struct Table {
  std::vector<int> entries;
  Table() {
    for (int i = 0; i < 10; i++) entries.push_back(i);
  }
};

static const Table &table() {
  static Table only;
  return only;
}

static bool a_static_of_a_function() {
  std::array<int, 3> sums{};
  in_threads(3, [&](int me) {
    for (int i = 0; i < 5; i++)
      for (int entry : table().entries) sums[me] += entry;
  });
  return sums[0] == 225 && sums[1] == 225 && sums[2] == 225;
}

static int moody() {
  static std::atomic<int> tries{0};
  static int value = [] {
    if (tries.fetch_add(1) == 0) throw 1;
    return 9;
  }();
  return value;
}

static bool a_static_whose_first_attempt_throws() {
  std::array<int, 3> seen{};
  in_threads(3, [&](int me) {
    while (seen[me] == 0) {
      try {
        seen[me] = moody();
      } catch (int) {
      }
    }
  });
  return seen[0] + seen[1] + seen[2] == 27;
}

struct Counted {
  static std::atomic<int> gone;
  std::string name = "a name that does not fit into the object itself";
  ~Counted() { gone.fetch_add(1, std::memory_order_relaxed); }
};
std::atomic<int> Counted::gone{0};
static thread_local Counted mine;

static bool a_variable_of_each_thread() {
  std::array<size_t, 3> sizes{};
  in_threads(3, [&](int me) {
    mine.name += std::to_string(me);
    sizes[me] = mine.name.size();
  });
  return sizes[0] == 48 && sizes[2] == 48 && Counted::gone.load() == 3;
}

static bool an_exception_goes_from_thread_to_thread() {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      throw std::runtime_error("from over there");
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  try {
    std::rethrow_exception(thrown);
  } catch (const std::runtime_error &error) {
    return std::string(error.what()) == "from over there";
  }
  return false;
}

static bool a_promise_and_its_future() {
  std::promise<std::vector<int>> promise;
  auto future = promise.get_future();
  std::thread maker([&] { promise.set_value({1, 2, 3}); });
  int sum = 0;
  for (int value : future.get()) sum += value;
  maker.join();
  return sum == 6;
}

static bool futures_shared_and_asynchronous() {
  std::shared_future<std::string> word =
      std::async(std::launch::async, [] { return std::string("a word that needs the heap for itself"); });
  std::array<size_t, 2> sizes{};
  in_threads(2, [&](int me) { sizes[me] = word.get().size(); });
  auto failing = std::async(std::launch::async, []() -> int { throw std::logic_error("no"); });
  try {
    failing.get();
  } catch (const std::logic_error &) {
    return sizes[0] == sizes[1];
  }
  return false;
}

static bool a_packaged_task() {
  std::packaged_task<int(int)> task([](int x) { return 6 * x; });
  auto future = task.get_future();
  std::thread worker(std::move(task), 7);
  int result = future.get();
  worker.join();
  return result == 42;
}

static bool a_shared_pointer_that_is_atomic() {
  std::atomic<std::shared_ptr<std::string>> current{std::make_shared<std::string>("first")};
  std::atomic<size_t> seen{0};
  in_threads(3, [&](int me) {
    for (int i = 0; i < 10; i++) {
      if (me == 0) current.store(std::make_shared<std::string>("another, longer than the object has room"));
      else seen.fetch_add(current.load()->size(), std::memory_order_relaxed);
    }
  });
  return current.load()->size() == 40 && seen.load() >= 100;
}

static bool an_atomic_that_is_waited_for() {
  std::atomic<int> stage{0};
  int value = 0;
  std::thread waiter([&] {
    stage.wait(0);
    value++;
    stage.store(2);
    stage.notify_all();
  });
  value = 4;
  stage.store(1);
  stage.notify_one();
  stage.wait(1);
  waiter.join();
  return value == 5;
}

#define PROGRAM(name) {#name, name}

int main() {
  const std::pair<const char *, bool (*)()> programs[] = {
      PROGRAM(threads_are_joined),
      PROGRAM(threads_that_join_themselves),
      PROGRAM(a_thread_is_asked_to_stop),
      PROGRAM(a_mutex),
      PROGRAM(a_mutex_that_is_tried),
      PROGRAM(a_recursive_mutex),
      PROGRAM(a_timed_mutex),
      PROGRAM(a_recursive_timed_mutex),
      PROGRAM(two_mutexes_at_once),
      PROGRAM(a_shared_mutex),
      PROGRAM(a_shared_timed_mutex),
      PROGRAM(a_condition_variable),
      PROGRAM(a_condition_with_a_deadline),
      PROGRAM(a_condition_for_any_lock),
      PROGRAM(something_is_called_once),
      PROGRAM(what_is_called_once_may_throw),
      PROGRAM(a_latch),
      PROGRAM(a_barrier),
      PROGRAM(a_binary_semaphore),
      PROGRAM(a_counting_semaphore_with_a_deadline),
      PROGRAM(a_static_of_a_function),
      PROGRAM(a_static_whose_first_attempt_throws),
      PROGRAM(a_variable_of_each_thread),
      PROGRAM(an_exception_goes_from_thread_to_thread),
      PROGRAM(a_promise_and_its_future),
      PROGRAM(futures_shared_and_asynchronous),
      PROGRAM(a_packaged_task),
      PROGRAM(a_shared_pointer_that_is_atomic),
      PROGRAM(an_atomic_that_is_waited_for),
  };
  int right = 0;
  for (auto &[name, program] : programs) {
    bool is_right = program();
    right += is_right;
    std::printf("%s %s\n", name, is_right ? "right" : "WRONG");
    std::fflush(stdout);
  }
  std::printf("%d right\n", right);
}

// What a future gives is there once: a promise, a task, a function that runs by itself.
// fencepost -std=c++17: races holds, assertions holds
// fencepost -std=c++17 -DTOO_EARLY: races violated
// fencepost -std=c++17 -DIN_TIME: races holds, assertions holds
// fencepost -std=c++17 -DTWICE: assertions violated
#include <cassert>
#include <chrono>
#include <future>
#include <thread>

static int data;

int main() {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread setter([&] {
#ifndef TOO_EARLY
        data = 1;
#endif
        promise.set_value(7);
#ifdef TOO_EARLY
        data = 1;
#endif
    });
#ifdef IN_TIME
    if (future.wait_for(std::chrono::seconds(1)) == std::future_status::ready) assert(data == 1);
#endif
    assert(future.get() == 7);
    assert(data == 1);
    setter.join();
#ifdef TWICE
    future.get();
#endif

    std::packaged_task<int(int)> task([](int n) { return n + 1; });
    std::future<int> result = task.get_future();
    std::thread worker(std::move(task), 4);
    assert(result.get() == 5);
    worker.join();

    std::future<int> later = std::async(std::launch::async, [] { return data + 1; });
    std::future<int> lazy = std::async(std::launch::deferred, [] { return data + 2; });
    assert(later.get() == 2 && lazy.get() == 3);
}

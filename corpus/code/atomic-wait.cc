// What C++20 waits with: `wait` of an atomic, a latch, a semaphore.
// fencepost -std=c++20: robustness holds, races holds, assertions holds
// fencepost -std=c++20 -DBROKEN: races violated
// fencepost -std=c++20 -DLATCH: robustness holds, races holds, assertions holds
// fencepost -std=c++20 -DSEMAPHORE: robustness holds, races holds, assertions holds
#include <atomic>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>

static int data;

int main() {
#if defined LATCH
    std::latch done(2);
    std::thread t([&] { data = 42; done.count_down(); });
    std::thread u([&] { done.count_down(); });
    done.wait();
    assert(data == 42);
    u.join();
#elif defined SEMAPHORE
    std::binary_semaphore full(0);
    std::thread t([&] { data = 42; full.release(); });
    full.acquire();
    assert(data == 42);
#else
#ifdef BROKEN
    const auto order = std::memory_order_relaxed;
#else
    const auto order = std::memory_order_release;
#endif
    std::atomic<int> ready{0};
    std::thread t([&] { data = 42; ready.store(1, order); ready.notify_one(); });
    ready.wait(0, std::memory_order_acquire);
    assert(data == 42);
#endif
    t.join();
}

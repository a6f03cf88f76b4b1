// A spin lock in C++ with std::atomic_flag, used through std::lock_guard.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

class spin_lock {
    std::atomic_flag taken = ATOMIC_FLAG_INIT;

  public:
    void lock() {
        while (taken.test_and_set(std::memory_order_acquire)) {
        }
    }
    void unlock() {
#ifdef BROKEN
        taken.clear(std::memory_order_relaxed);
#else
        taken.clear(std::memory_order_release);
#endif
    }
};

static spin_lock guard;
static int counter;

static void work() {
    std::lock_guard<spin_lock> hold(guard);
    ++counter;
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(counter == 2);
}

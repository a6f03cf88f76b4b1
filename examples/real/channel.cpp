// A channel for one value: a mutex, a condition variable, a lambda per thread.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

template <typename T> class channel {
    std::mutex mutex;
    std::condition_variable filled;
    bool full = false;
    T value{};

  public:
    void send(T v) {
#ifndef BROKEN
        std::unique_lock<std::mutex> lock(mutex);
#endif
        value = v;
        full = true;
        filled.notify_one();
    }
    T receive() {
        std::unique_lock<std::mutex> lock(mutex);
        while (!full)
            filled.wait(lock);
        return value;
    }
};

int main() {
    channel<int> numbers;
    std::thread sender([&] { numbers.send(3); });
    std::thread receiver([&] { assert(numbers.receive() == 3); });
    sender.join();
    receiver.join();
}

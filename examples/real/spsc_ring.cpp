// A ring for one producer and one consumer. Each side publishes its own index with release and reads the other's with
// acquire; the slots themselves are plain.
//
// fencepost: robustness violated, races holds, assertions holds
// fencepost -DBROKEN: races violated
#include <atomic>
#include <cassert>
#include <thread>

template <typename T, unsigned N> class ring {
    T slots[N];
    std::atomic<unsigned> head{0}, tail{0};

  public:
    bool push(T value) {
        unsigned t = tail.load(std::memory_order_relaxed);
        if (t - head.load(std::memory_order_acquire) == N)
            return false;
        slots[t % N] = value;
#ifdef BROKEN
        tail.store(t + 1, std::memory_order_relaxed);
#else
        tail.store(t + 1, std::memory_order_release);
#endif
        return true;
    }
    bool pop(T &value) {
        unsigned h = head.load(std::memory_order_relaxed);
        if (h == tail.load(std::memory_order_acquire))
            return false;
        value = slots[h % N];
        head.store(h + 1, std::memory_order_release);
        return true;
    }
};

int main() {
    ring<int, 2> numbers;
    std::thread producer([&] {
        for (int i = 1; i <= 3; i++)
            while (!numbers.push(i)) {
            }
    });
    std::thread consumer([&] {
        for (int i = 1; i <= 3; i++) {
            int got;
            while (!numbers.pop(got)) {
            }
            assert(got == i);
        }
    });
    producer.join();
    consumer.join();
}

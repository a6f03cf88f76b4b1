// The first look at the pointer acquires nothing.
// fencepost -std=c++17: races violated
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

struct S {
    int v;
};
std::atomic<S *> p{nullptr};
std::mutex m;
S *get() {
    S *s = p.load(std::memory_order_relaxed);
    if (!s) {
        std::lock_guard<std::mutex> g(m);
        s = p.load(std::memory_order_relaxed);
        if (!s) {
            s = new S{7};
            p.store(s, std::memory_order_release);
        }
    }
    return s;
}
int main() {
    std::thread a([&] { assert(get()->v == 7); });
    std::thread b([&] { assert(get()->v == 7); });
    a.join();
    b.join();
}
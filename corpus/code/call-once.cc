// One of two threads initialises.
// fencepost -std=c++17: robustness holds, assertions holds
#include <cassert>
#include <mutex>
#include <thread>

std::once_flag f;
int d;
int main() {
    std::thread a([&] {
        std::call_once(f, [] { d++; });
        assert(d == 1);
    });
    std::thread b([&] {
        std::call_once(f, [] { d++; });
        assert(d == 1);
    });
    a.join();
    b.join();
}
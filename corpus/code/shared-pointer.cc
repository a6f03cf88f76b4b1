// Threads that share an object, and the last one deletes it.
// fencepost -std=c++17: robustness holds, assertions holds
#include <cassert>
#include <memory>
#include <thread>

int main() {
    auto p = std::make_shared<int>(3);
    std::thread a([p] { assert(*p == 3); });
    std::thread b([p] { assert(*p == 3); });
    p.reset();
    a.join();
    b.join();
}
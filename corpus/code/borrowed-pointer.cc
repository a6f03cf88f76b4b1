// A pointer to what a `unique_ptr` deletes meanwhile.
// fencepost -std=c++17: races violated
#include <memory>
#include <thread>

int main() {
    auto p = std::make_unique<int>(3);
    int *q = p.get();
    std::thread a([q] {
        int r = *q;
        (void)r;
    });
    p.reset();
    a.join();
}
// An exception that would be thrown never is, and one that is thrown is caught by nobody.
// fencepost -std=c++17: assertions holds
// fencepost -std=c++17 -DBROKEN: assertions violated
#include <memory>
#include <stdexcept>
#include <thread>

struct positive {
    int value;
    explicit positive(int value) : value(value) {
        if (value <= 0)
            throw std::invalid_argument("not positive");
    }
};

int main() {
#ifdef BROKEN
    auto p = std::make_unique<positive>(0);
#else
    auto p = std::make_unique<positive>(1);
#endif
    std::thread t([q = std::move(p)] { positive copy(q->value); });
    t.join();
}

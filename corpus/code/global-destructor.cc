// The destructor of a global object runs after `main`.
// fencepost -std=c++17: assertions violated
#include <cassert>
#include <thread>

int d;
struct G {
    ~G() {
        assert(d == 0);
    }
} g;
int main() {
    std::thread a([] { d = 1; });
    a.join();
}
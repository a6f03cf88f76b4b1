// What a thread was given to run is destroyed by the thread when it is done, before somebody who joins it goes on.
// fencepost -std=c++17: races holds, assertions holds
// fencepost -std=c++17 -DRACE: races violated
// fencepost -std=c++17 -DBROKEN: assertions violated
#include <cassert>
#include <memory>
#include <thread>

static int destroyed = 0;

struct resource {
    int number = 1;
    ~resource() { destroyed++; }
};

int main() {
    auto shared = std::make_shared<resource>();
    auto own = std::make_unique<resource>();
    std::thread thread([shared, own = std::move(own)] { assert(shared->number == own->number); });
    shared.reset();
#ifdef RACE
    destroyed++;
#endif
    thread.join();
#ifdef BROKEN
    assert(destroyed < 2);
#else
    assert(destroyed >= 2);
#endif
}

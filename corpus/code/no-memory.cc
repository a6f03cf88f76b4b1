// Asked for more memory than any machine has, `malloc` gives none, and `new` throws.
// fencepost: assertions holds
// fencepost -DUNCAUGHT: assertions violated
// fencepost -DVECTOR: races violated
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

static std::size_t much = SIZE_MAX / 4;

int main() {
#ifdef VECTOR
    // In a race, the vector may have any number of elements to move.
    std::vector<int> both;
    std::thread other([&] { both.push_back(1); });
    both.push_back(2);
    other.join();
#elif defined UNCAUGHT
    std::thread other([] { delete[] new char[much]; });
    other.join();
#else
    assert(!std::malloc(-2) && !std::calloc(much, 3) && !std::realloc(nullptr, much));
    assert(!new (std::nothrow) char[much]);
    bool caught = false;
    try {
        delete[] new char[much];
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    assert(caught);
#endif
}

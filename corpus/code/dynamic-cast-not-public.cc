// A base that is not public leads nowhere, neither to the object that it is a part of nor to another base. One that is
// there twice leads to the object that it is a part of, and does not lead from others.
// fencepost: robustness holds, assertions holds
// fencepost -DTO_WHOLE: assertions violated
// fencepost -DTO_OTHER: assertions violated
// fencepost -DTO_BOTH: assertions violated
#include <atomic>
#include <cassert>
#include <thread>

struct Base { virtual ~Base() = default; };
struct Other { long number = 1; virtual ~Other() = default; };
struct Hidden : private Base, public Other { Base *base() { return this; } };
struct Left : Base { };
struct Right : Base { };
struct Twice : Left, Right, Other { };

static std::atomic<Base *> seen;

int main() {
    Hidden hidden;
    std::thread maker([&] { seen.store(hidden.base(), std::memory_order_release); });
    maker.join();
    Base *base = seen.load(std::memory_order_acquire);
    Twice twice;
    Other *other = &twice;
    assert(dynamic_cast<Left *>(static_cast<Base *>(static_cast<Left *>(&twice))) == &twice);
    assert(dynamic_cast<Right *>(static_cast<Base *>(static_cast<Left *>(&twice))) == &twice);
    assert(dynamic_cast<Twice *>(other) == &twice);
#if defined TO_WHOLE
    assert(dynamic_cast<Hidden *>(base));
#elif defined TO_OTHER
    assert(dynamic_cast<Other *>(base));
#elif defined TO_BOTH
    assert(dynamic_cast<Base *>(other));
#else
    assert(!dynamic_cast<Hidden *>(base) && !dynamic_cast<Other *>(base) && !dynamic_cast<Base *>(other));
    assert(dynamic_cast<Hidden *>(static_cast<Other *>(&hidden)) == &hidden);
#endif
}

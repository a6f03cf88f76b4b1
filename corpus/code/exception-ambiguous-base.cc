// A base that an exception has twice is none that it is caught by; one that it has once, being virtual, would be.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <cassert>

struct base { int number; };
struct left : base {};
struct right : base {};
struct both : left, right {};

int main() {
    int handler = 0;
    try {
        try {
            throw both();
        } catch (base &) {
            handler = 1;
        }
    } catch (left &) {
        handler = 2;
    }
#ifdef BROKEN
    assert(handler == 1);
#else
    assert(handler == 2);
#endif
}

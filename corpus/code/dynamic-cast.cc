// Objects are asked for their type: bases that stand first and others, and classes that they are not of.
// fencepost: races holds, assertions holds
// fencepost -DBROKEN: assertions violated
#include <atomic>
#include <cassert>
#include <thread>

struct Shape { virtual ~Shape() = default; };
struct Named { long name = 7; virtual ~Named() = default; };
struct Round : Shape { int radius = 3; };
struct Wheel : Round, Named { };
struct Square : Shape { };

static std::atomic<Shape *> shape;

int main() {
    std::thread maker([] { shape.store(new Wheel, std::memory_order_release); });
    Shape *seen = shape.load(std::memory_order_acquire);
    if (seen) {
        assert(dynamic_cast<Round *>(seen)->radius == 3);
        Named *named = dynamic_cast<Named *>(seen);
        assert(named && named->name == 7 && static_cast<void *>(named) != static_cast<void *>(seen));
        assert(dynamic_cast<Wheel *>(named) == seen && dynamic_cast<void *>(named) == seen);
#ifdef BROKEN
        assert(dynamic_cast<Square *>(seen));
#else
        assert(!dynamic_cast<Square *>(named));
#endif
    }
    maker.join();
    delete shape.load();
}

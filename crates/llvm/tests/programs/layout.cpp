// Classes and what the compiler itself says about them.
#include <atomic>
#include <cstddef>

struct Empty {};
struct Base { int x; long y; };
struct Derived : Empty, Base { int z; };
struct Table { virtual ~Table() {} int after; };
template <class T> struct Slot { std::atomic<T> state; T value; static int shared; };
struct Ring { Slot<unsigned long> slots[4]; std::atomic<Ring *> next; };

#define AT(type, field) offsetof(type, field)
#define FACTS(type, ...) \
    type type##_object; \
    extern "C" const unsigned long type##_facts[]; \
    extern "C" const unsigned long type##_facts[] = { sizeof(type), __VA_ARGS__ };

FACTS(Derived, AT(Derived, x), AT(Derived, y), AT(Derived, z))
FACTS(Table, AT(Table, after))
FACTS(Ring, AT(Ring, slots[1].state), AT(Ring, slots[3].value), AT(Ring, next))

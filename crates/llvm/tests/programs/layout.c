/* Structs and what the compiler itself says about them: size, then the offset of each field. */
#include <stdatomic.h>
#include <stddef.h>

struct plain { char a; int b; short c; long d; char e; };
struct nested { struct plain p; char x; struct { int u; double v; } in; struct plain *next; };
struct __attribute__((packed)) packed { char a; long b; short c; };
struct aligned { char a; _Alignas(64) int b; char c; };
struct arrays { short s[3]; int m[2][3]; struct plain q[2]; };
struct atomics { _Atomic(char) c; atomic_long l; _Atomic(void *) p; };
struct flexible { int n; union { short half; char bytes[2]; }; struct plain items[]; };
#ifdef __SIZEOF_INT128__
typedef __int128 widest;
#else
typedef long long widest;
#endif
struct wide { char a; long double b; char c; widest d; };

#define FACTS(type, ...) \
    struct type type##_object; \
    unsigned long type##_facts[] = { sizeof(struct type), __VA_ARGS__ };
#define AT(type, field) offsetof(struct type, field)

FACTS(plain, AT(plain, a), AT(plain, b), AT(plain, c), AT(plain, d), AT(plain, e))
FACTS(nested, AT(nested, p.d), AT(nested, x), AT(nested, in.v), AT(nested, next))
FACTS(packed, AT(packed, a), AT(packed, b), AT(packed, c))
FACTS(aligned, AT(aligned, a), AT(aligned, b), AT(aligned, c))
FACTS(arrays, AT(arrays, s[2]), AT(arrays, m[1][2]), AT(arrays, q[1].d))
FACTS(atomics, AT(atomics, c), AT(atomics, l), AT(atomics, p))
FACTS(wide, AT(wide, a), AT(wide, b), AT(wide, c), AT(wide, d))
FACTS(flexible, AT(flexible, n), AT(flexible, half), AT(flexible, items[2].d))

#include <cstdio>
#include <string>

struct item { int key; char tag; };

template <class T> T twice(T value) { return value + value; }

struct Announce {
    Announce() { std::puts("third"); }
} announce;

extern "C" const char *describe(item item) {
    static std::string text;
    text = std::to_string(twice(item.key)) + twice(std::string(1, item.tag));
    return text.c_str();
}

// A pointer is thrown: who catches it is told the pointer, and who catches a reference to it where it is kept.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <cassert>

static int number = 4;

int main() {
    char letter = 0;
    try {
        throw "abc";
    } catch (const char *text) {
        letter = text[1];
    }
#ifdef BROKEN
    assert(letter == 'c');
#else
    assert(letter == 'b');
#endif
    int found = 0;
    try {
        throw &number;
    } catch (int *&where) {
        found = *where;
        assert(where == &number);
    }
    assert(found == 4);
}

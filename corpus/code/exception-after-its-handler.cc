// An exception is destroyed at the end of its last handler, and its memory is gone then.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <cassert>

static int destroyed = 0;

struct error {
    int code;
    explicit error(int code) : code(code) {}
    error(const error &other) : code(other.code) {}
    ~error() { destroyed++; }
};

static error *last;

static void pass_on() {
    try {
        throw error(3);
    } catch (error &caught) {
        last = &caught;
        throw;
    }
}

int main() {
    try {
        pass_on();
    } catch (...) {
        assert(destroyed == 0 && last->code == 3);
    }
    assert(destroyed == 1);
#ifdef BROKEN
    assert(last->code == 3);
#endif
}

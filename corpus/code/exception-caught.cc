// Exceptions that are caught: by their type, by a base of it, by anybody; thrown again, after destructors have run.
// fencepost -std=c++17: races holds, assertions holds
// fencepost -std=c++17 -DBROKEN: assertions violated
// fencepost -std=c++17 -DPRIVATE_BASE: assertions violated
// fencepost -std=c++17 -DRACE: races violated
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <thread>
#include <vector>

struct base { virtual ~base() = default; };
#ifdef PRIVATE_BASE
struct derived : private base { int code; explicit derived(int code) : code(code) {} };
#else
struct derived : base { int code; explicit derived(int code) : code(code) {} };
#endif

std::atomic<int> flag{0};
int data;

struct guard {
    int &count;
    ~guard() { count++; }
};

static void fails(int how, int &count) {
    guard g{count};
    switch (how) {
    case 0: throw 5;
    case 1: throw derived(7);
    case 2: throw std::out_of_range("far");
    case 3: std::vector<int>().at(0);
    }
}

static int handled(int how, int &count) {
    try {
        guard g{count};
        fails(how, count);
    } catch (int value) {
        return value;
    } catch (const base &) {
        return 7;
    } catch (const std::logic_error &error) {
        return error.what() ? 9 : 0;
    }
    return 0;
}

int main() {
    std::thread t([] {
        int count = 0;
#ifdef BROKEN
        assert(handled(0, count) == 6);
#else
        assert(handled(0, count) == 5);
#endif
        assert(count == 2);
        assert(handled(1, count) == 7 && handled(2, count) == 9 && handled(3, count) == 9);
        assert(count == 8);
        try {
            try {
                throw derived(3);
            } catch (derived &error) {
                error.code++;
                throw;
            }
        } catch (derived error) {
            data = error.code;
        }
#ifdef RACE
        flag.store(1, std::memory_order_relaxed);
#else
        flag.store(1, std::memory_order_release);
#endif
    });
    while (!flag.load(std::memory_order_acquire)) {
    }
    assert(data == 4);
    t.join();
}

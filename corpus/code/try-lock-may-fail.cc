// `try_lock` may fail although nobody holds the lock, so its failure says nothing: no thread learns from it what the other did.
// fencepost -std=c++17: robustness holds, assertions violated
// fencepost -std=c++17 -DASKS_AGAIN: robustness holds, races holds, assertions holds
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::mutex lock;
static std::shared_mutex shared;
static int number;

int main() {
    std::thread other([] {
        if (lock.try_lock()) {
            number++;
            lock.unlock();
        }
        if (shared.try_lock_shared()) shared.unlock_shared();
    });
    other.join();
#ifdef ASKS_AGAIN
    while (!lock.try_lock()) { }
    assert(number < 2);
    lock.unlock();
#else
    assert(lock.try_lock());
#endif
}

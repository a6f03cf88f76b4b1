// A `std::thread` without a thread can be neither joined nor detached: both throw.
// fencepost: assertions violated
// fencepost -DCAUGHT: assertions holds
#include <cassert>
#include <system_error>
#include <thread>

int main() {
    std::thread worker([] {});
    worker.detach();
#ifdef CAUGHT
    int caught = 0;
    try { worker.detach(); } catch (const std::system_error &) { caught++; }
    try { worker.join(); } catch (const std::system_error &error) { caught += error.code().value() == 22; }
    assert(caught == 2);
#else
    worker.detach();
#endif
}

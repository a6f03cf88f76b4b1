// A condition variable may wake up for no reason.
// fencepost -std=c++17: assertions violated
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

std::mutex m;
std::condition_variable c;
bool r = false;
int d;
int main() {
    std::thread a([&] {
        std::unique_lock<std::mutex> l(m);
        c.wait(l);
        assert(d == 1);
    });
    std::thread b([&] {
        {
            std::lock_guard<std::mutex> g(m);
            d = 1;
            r = true;
        }
        c.notify_one();
    });
    a.join();
    b.join();
}
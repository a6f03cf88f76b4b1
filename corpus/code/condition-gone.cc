// The notifier is not done with the condition variable when the waiter, who sees the flag, deletes it.
// fencepost: races violated
// fencepost -DHOLDS_THE_LOCK: robustness holds, races holds, assertions holds
#include <condition_variable>
#include <mutex>
#include <thread>

struct Event {
    std::mutex lock;
    std::condition_variable changed;
    bool happened = false;
};

int main() {
    Event *event = new Event;
    std::thread notifier([event] {
        std::unique_lock<std::mutex> guard(event->lock);
        event->happened = true;
#ifndef HOLDS_THE_LOCK
        guard.unlock();
#endif
        event->changed.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(event->lock);
        event->changed.wait(guard, [event] { return event->happened; });
    }
    delete event;
    notifier.join();
}

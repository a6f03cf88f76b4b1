#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace app {
struct Message {
    int body = 0;
    std::atomic<bool> ready{false};
    std::mutex lock;
};

Message message;

int receive(Message &m) {
    while (!m.ready.load(std::memory_order_acquire)) {
    }
    std::lock_guard<std::mutex> guard(m.lock);
    if (m.body < 0)
        throw std::runtime_error("negative");
    return m.body;
}
} // namespace app

int main() {
    std::thread sender([] {
        app::message.body = 1;
        app::message.ready.store(true, std::memory_order_release);
    });
    int got = app::receive(app::message);
    sender.join();
    return got - 1;
}

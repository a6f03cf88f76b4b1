// Throws, catches, and calls through tables; prints what happened.
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Shape {
    virtual ~Shape() { std::puts("gone"); }
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    explicit Square(int side) : side(side) {
        if (side < 0)
            throw std::invalid_argument("side " + std::to_string(side));
    }
    int area() const override { return side * side; }
};

static std::map<std::string, int> counts;
static std::mutex lock;
static std::atomic<long> total{0};

static int measure(int side) {
    std::unique_ptr<Shape> shape(new Square(side));
    if (side > 3)
        throw side;
    return shape->area();
}

int main() {
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; n++)
        threads.emplace_back([n] {
            std::lock_guard<std::mutex> guard(lock);
            counts["n" + std::to_string(n % 2)] += n;
            total += n;
        });
    for (auto &thread : threads)
        thread.join();
    for (int side : {-1, 2, 4}) {
        try {
            std::printf("%d\n", measure(side));
        } catch (const std::exception &error) {
            std::printf("%s\n", error.what());
        } catch (int number) {
            std::printf("caught %d\n", number);
        }
    }
    for (auto &[name, count] : counts)
        std::printf("%s %d\n", name.c_str(), count);
    std::printf("%ld\n", total.load());
}

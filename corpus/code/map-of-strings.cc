// A map of strings, with and without a lock, and what is printed of it.
// fencepost -std=c++17: races holds, assertions holds
// fencepost -std=c++17 -DBROKEN: races violated
#include <cassert>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

static std::mutex lock;
static std::map<std::string, int> ages;

static void set(const char *who, int age) {
#ifndef BROKEN
    std::lock_guard<std::mutex> guard(lock);
#endif
    ages[who] = age;
}

int main() {
    std::thread other([] { set("ann", 3); });
    set("bob", 4);
    other.join();
    int sum = 0;
    for (const auto &[who, age] : ages) {
        std::cout << who << ": " << age << std::endl;
        sum += age;
    }
    ages.erase("bob");
    assert(ages.size() == 1 && sum == 7 && ages.begin()->first == "ann");
}

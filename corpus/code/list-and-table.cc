// Lists and hash tables of C++, parts of which are in no header.
// fencepost -std=c++17: races holds, assertions holds
// fencepost -std=c++17 -DLIST: races violated
// fencepost -std=c++17 -DTABLE: races violated
#include <cassert>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

static std::mutex lock;
static std::list<int> list;
static std::unordered_map<std::string, int> table;

static void add(int n) {
    {
#ifndef LIST
        std::lock_guard<std::mutex> guard(lock);
#endif
        list.push_back(n);
    }
#ifndef TABLE
    std::lock_guard<std::mutex> guard(lock);
#endif
    table[n == 1 ? "one" : "two"] += n;
}

static void alone() {
    std::list<int> some{3, 1, 2}, more{5, 6};
    some.splice(some.end(), more);
    assert(more.empty() && some.size() == 5);
    some.sort();
    some.reverse();
    assert(some.front() == 6 && some.back() == 1);
    some.remove(5);
    some.swap(more);
    assert(some.empty() && more.size() == 4 && *++more.begin() == 3);
    std::unordered_map<std::string, int> letters;
    for (int k = 0; k < 15; k++) letters[std::string(1, 'a' + k)] = k;
    for (int k = 0; k < 15; k++) assert(letters.at(std::string(1, 'a' + k)) == k);
    letters.erase("a");
    assert(letters.size() == 14 && letters.find("a") == letters.end());
}

int main() {
    alone();
    std::thread other(add, 2);
    add(1);
    other.join();
    assert(list.size() == 2 && list.front() + list.back() == 3);
    assert(table.size() == 2 && table.at("one") == 1 && table.at("two") == 2 && table.count("three") == 0);
}

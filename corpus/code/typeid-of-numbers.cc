// The C++ library has the type information of fundamental types, and names in it tell them apart.
// fencepost -std=c++17: assertions holds
// fencepost -std=c++17 -DBROKEN: assertions violated
#include <any>
#include <cassert>
#include <typeinfo>

int main() {
    std::any number = 3;
    assert(typeid(int) != typeid(double) && typeid(long) == typeid(long));
    assert(std::any_cast<int>(number) == 3 && !std::any_cast<double>(&number));
#ifdef BROKEN
    assert(typeid(int) == typeid(long));
#endif
}

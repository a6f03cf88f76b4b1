// Padding has any value, which does no harm where other bytes differ, or where bytes are only written to a file.
// fencepost: assertions holds
// fencepost -DEQUAL: assertions violated
#include <assert.h>
#include <string.h>
#include <unistd.h>

struct padded { char first; int second; };

int main(void) {
    struct padded one, other;
    one.first = other.first = 'a';
    one.second = 1;
    other.second = 2;
    write(1, &one, sizeof one);
    assert(memcmp(&one, &other, sizeof one));
#ifdef EQUAL
    other.second = 1;
    assert(!memcmp(&one, &other, sizeof one));
#endif
}

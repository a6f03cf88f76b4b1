// Texts may not be copied over themselves.
// fencepost: assertions holds
// fencepost -DFORTH: assertions violated
// fencepost -DBACK: assertions violated
// fencepost -DAPPENDED: assertions violated
#include <assert.h>
#include <string.h>

int main(void) {
    char text[16] = "abc";
#ifdef FORTH
    strcpy(text + 1, text);
#elif defined BACK
    strncpy(text, text + 2, 4);
#elif defined APPENDED
    strcat(text, text + 1);
#else
    strcpy(text + 8, text);
    strncpy(text + 12, text + 8, 2);
    strcat(text, text + 9);
#endif
    assert(!strcmp(text, "abcbc"));
}

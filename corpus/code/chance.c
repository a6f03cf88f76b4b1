// What `rand` gives is a choice, and both ways are looked at; arguments and environment are there to be read.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    srand(time(0));
    int throws = argc > 1 ? atoi(argv[1]) : 2, sum = 0;
    for (int k = 0; k < throws; k++)
        sum += rand() % 2;
    printf("%s: %d\n", argv[0], sum);
    if (getenv("QUIET"))
        return 0;
#ifdef BROKEN
    assert(sum < 2);
#else
    assert(sum <= 2);
#endif
    return 0;
}

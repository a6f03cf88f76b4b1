// A thread's own stale pointer, used during a later call of the same function from the same place.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
static int *kept;

static int call(int round) {
    int x = round;
    if (round == 0) {
        kept = &x;
        *kept = 1;
    }
#ifdef BROKEN
    if (round == 1)
        *kept = 5;
#endif
    return x;
}

int main(void) {
    int sum = 0;
    for (int round = 0; round < 2; round++)
        sum += call(round);
    return sum;
}

// A variable of an inner block, used after the block, and in a later round of the loop.
// fencepost: assertions holds
// fencepost -DBROKEN: assertions violated
// fencepost -DROUND: assertions violated
static int *kept;

int main(void) {
    int outer = 0;
    kept = &outer;
    for (int k = 0; k < 3; k++) {
        int x = k;
#ifdef ROUND
        if (k == 1)
            *kept = 4;
        if (k == 0)
            kept = &x;
#else
        int *before = kept;
        kept = &x;
        *kept += 1;
        (void)before;
#endif
    }
#ifdef BROKEN
    *kept = 3;
#endif
    return outer;
}

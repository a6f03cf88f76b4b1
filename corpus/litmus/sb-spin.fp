// Store buffering where each thread spins on the other's flag.
//
// The loop ends with the same value as the wait of sb-wait-one, but every turn of it is a load of its own, and
// the first may read a stale 0 and branch on it. No harm comes of that, yet the program is not robust: write
// `wait` where a loop only waits.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, rlx);
    while (a == 0) {
        a = y.load(rlx);
    }
}

thread right {
    local a;
    y.store(1, rlx);
    while (a == 0) {
        a = x.load(rlx);
    }
}

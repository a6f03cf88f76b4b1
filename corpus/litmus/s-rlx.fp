// S: a message is answered by a store to the same location, relaxed.
//
// The right thread sees y == 1 and then overwrites x, but its store may be ordered before the left thread's
// own: x == 2 at the end. The cycle has no stale load at all, only stores in the wrong order, so it counts
// observationally too.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 2;
atomic x, y;

thread left {
    x.store(2, rlx);
    y.store(1, rlx);
}

thread right {
    local a;
    a = y.load(rlx);
    if (a == 1) {
        x.store(1, rlx);
    }
}

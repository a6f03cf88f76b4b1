// A wait that no stale value satisfies.
//
// As in wait-stale-value the reader may lag behind, but the only value it waits for is the newest one. Stale
// values that satisfy nobody are no violation: this is what critical values are about.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, y;

thread writer {
    x.store(1, rlx);
    x.store(2, rlx);
    y.store(1, rlx);
}

thread reader {
    wait(y, 1, rlx);
    wait(x, 2, rlx);
}

// A compare-and-swap that succeeds on a value it should know is gone.
//
// The right thread has seen y == 1, so in an interleaving x is 1 and its CAS fails. Relaxed, it may succeed on
// the initial 0: its update is then ordered before the left thread's store, which it never knew.
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
    x.store(1, rlx);
    y.store(1, rlx);
}

thread right {
    local r;
    wait(y, 1, rlx);
    r = CAS(x, 0, 2, rlx, rlx);
    assert(r == 1);
}

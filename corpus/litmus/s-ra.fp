// S with release and acquire.
//
// Having acquired y, the right thread is aware of x == 2, and its own store comes after it.
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

thread left {
    x.store(2, rlx);
    y.store(1, rel);
}

thread right {
    local a;
    a = y.load(acq);
    if (a == 1) {
        x.store(1, rlx);
    }
}

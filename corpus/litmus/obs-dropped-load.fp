// Stale values that nobody looks at.
//
// Store buffering again, but the loaded values go nowhere. The executions are still not those of any
// interleaving, so the program is not robust; it is observationally robust, for nothing it does depends on
// them.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: violated
// expect ra observational-robustness: holds
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, rlx);
    a = y.load(rlx);
}

thread right {
    local a;
    y.store(1, rlx);
    a = x.load(rlx);
}

// A release fence covers every later relaxed store.
//
// Unlike a release store, a release fence stays in force: both stores of the flag after it publish the data.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    fence(rel);
    flag.store(1, rlx);
    flag.store(2, rlx);
}

thread reader {
    local d;
    wait(flag, 1, 2, acq);
    d = data.load(rlx);
    assert(d == 1);
}

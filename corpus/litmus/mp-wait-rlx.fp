// Message passing where the reader waits without acquiring.
//
// Waiting is not synchronizing: the relaxed wait reads 1 and the load after it may still read the old data.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    flag.store(1, rel);
}

thread reader {
    local d;
    wait(flag, 1, rlx);
    d = data.load(rlx);
    assert(d == 1);
}

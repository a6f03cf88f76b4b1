// Message passing where the reader waits for the flag.
//
// The waiting reader needs no branch: an acquiring wait that has read 1 knows the data.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
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
    wait(flag, 1, acq);
    d = data.load(rlx);
    assert(d == 1);
}

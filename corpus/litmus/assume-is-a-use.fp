// Store buffering where the stale outcome is assumed away.
//
// assume(a == 1) ends the thread when the load read 0, so only "good" runs survive; still the stale 0 decided
// something, and that is a use. A wait for 1 (sb-wait-one) expresses the same and is robust.
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
    x.store(1, rel);
    a = y.load(acq);
    assume(a == 1);
}

thread right {
    local a;
    y.store(1, rel);
    a = x.load(acq);
    assume(a == 1);
}

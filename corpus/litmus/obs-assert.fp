// A stale value used by an assertion.
//
// The assertion never fails, under any model, since it says nothing about the value. It is nevertheless a use:
// a value that reaches a condition counts as observed.
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
    a = y.load(rlx);
    assert(a <= 1);
}

thread right {
    local a;
    y.store(1, rlx);
    a = x.load(rlx);
}

// An assumption that cuts off the weak behaviour.
//
// Which order the left thread uses is chosen freely, but the choice without a fence is assumed not to be
// taken. What an assumption excludes is not analysed.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a, fenced;
    fenced = oneof(0, 1);
    assume(fenced);
    x.store(1, rlx);
    if (fenced) {
        fence(sc);
    }
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    fence(sc);
    a = x.load(rlx);
    verify(a);
}

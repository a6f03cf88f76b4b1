// Store buffering with acquire-release fences.
//
// An acquire-release fence is not a weak SC fence: it forbids every reordering but that of a store with a
// later load, which is just the one store buffering is about.
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
    fence(acq_rel);
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    fence(acq_rel);
    a = x.load(rlx);
    verify(a);
}

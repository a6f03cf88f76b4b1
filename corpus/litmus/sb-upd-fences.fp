// Store buffering repaired by bare update fences.
//
// fence(upd) is the read-modify-write inside an SC fence without the two fences around it. It is itself
// acquire and release, so whoever comes second knows what the first one stored.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, rlx);
    fence(upd);
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    fence(upd);
    a = x.load(rlx);
    verify(a);
}

// Store buffering repaired by two SC fences.
//
// One of the two fences comes first; its thread's store is then known to the thread with the second fence,
// whose load must see it. With both fences in place, all accesses may be relaxed.
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
    local a;
    x.store(1, rlx);
    fence(sc);
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

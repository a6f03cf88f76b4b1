// Store buffering repaired by an RMW on a third location.
//
// Both threads update the same location z between store and load. The updates are ordered, and acquire-release
// makes the second thread aware of the first one's store. This is what an SC fence is made of.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y, z;

thread left {
    local a;
    x.store(1, rlx);
    FADD(z, 0, acq, rel);
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    FADD(z, 0, acq, rel);
    a = x.load(rlx);
    verify(a);
}

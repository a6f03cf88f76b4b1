// Store buffering with read-modify-writes in place of the loads.
//
// An RMW reads the newest write in the order of its location, but the other thread's plain store may be placed
// after it in that order: FADD returns 0 in both threads. Both y.store and FADD(y) write y, yet nothing makes
// the store come first.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, rel);
    a = FADD(y, 0, acq, rel);
    verify(a);
}

thread right {
    local a;
    y.store(1, rel);
    a = FADD(x, 0, acq, rel);
    verify(a);
}

// Store buffering with `seq_cst` accesses.
//
// One of the four is first, so one of the loads comes after the other thread's store and reads it. RC20 has no
// such accesses and takes them for release and acquire, which is not enough.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, sc);
    a = y.load(sc);
    verify(a);
}

thread right {
    local b;
    y.store(1, sc);
    b = x.load(sc);
    verify(b);
}

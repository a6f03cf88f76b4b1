// Store buffering with a relaxed RMW on a third location.
//
// The updates of z are ordered, but being relaxed they carry no knowledge of x and y from thread to thread.
// Under `ra`, where every access is acquire-release, and on x86, where the RMW is a full fence, all is well.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y, z;

thread left {
    local a;
    x.store(1, rlx);
    FADD(z, 0, rlx, rlx);
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    FADD(z, 0, rlx, rlx);
    a = x.load(rlx);
    verify(a);
}

// Store buffering in which each thread first reads its own store, by acquire.
//
// x86 forwards the store to the load, and shows both stale reads. So does RC11: an acquire load is no part of the
// order of `seq_cst` accesses.
//
// expect rc11 robustness: violated

max_value 2;
atomic x, y;

thread left {
    local a, b;
    x.store(1, sc);
    a = x.load(acq);
    b = y.load(acq);
    verify(a + b);
}

thread right {
    local a, b;
    y.store(1, sc);
    a = y.load(acq);
    b = x.load(acq);
    verify(a + b);
}

// Store buffering with one load weaker.
//
// A single acquire among `seq_cst` accesses is outside their order: it may read the old value.
//
// expect rc11 robustness: violated

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, sc);
    a = y.load(acq);
    verify(a);
}

thread right {
    local b;
    y.store(1, sc);
    b = x.load(sc);
    verify(b);
}

// Independent reads of independent writes with acquire loads: the readers may disagree, although both stores are
// `seq_cst`.
//
// expect rc11 robustness: violated

max_value 2;
atomic x, y;

thread first {
    x.store(1, sc);
}

thread second {
    y.store(1, sc);
}

thread x_then_y {
    local a, b;
    a = x.load(acq);
    b = y.load(acq);
    verify(a + b);
}

thread y_then_x {
    local a, b;
    a = y.load(acq);
    b = x.load(acq);
    verify(a + b);
}

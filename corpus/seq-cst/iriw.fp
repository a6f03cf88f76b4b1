// Independent reads of independent writes, all `seq_cst`: both readers see the two stores in one order.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

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
    a = x.load(sc);
    b = y.load(sc);
    verify(a + b);
}

thread y_then_x {
    local a, b;
    a = y.load(sc);
    b = x.load(sc);
    verify(a + b);
}

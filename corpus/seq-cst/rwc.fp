// Read to write causality, all `seq_cst`.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 2;
atomic x, y;

thread writer {
    x.store(1, sc);
}

thread observer {
    local a, b;
    a = x.load(sc);
    b = y.load(sc);
    verify(a + b);
}

thread both {
    local c;
    y.store(1, sc);
    c = x.load(sc);
    verify(c);
}

// Z6.U: a `seq_cst` store, then a release store that a `seq_cst` update reads from.
//
// The update happens after the first store, yet a third thread whose `seq_cst` store comes after the update may miss it:
// happens-before through a release store to the same location is no part of RC11's order of `seq_cst` accesses. Compilers
// to Power and ARMv7 need this.
//
// expect rc11 robustness: violated

max_value 7;
atomic x, y;

thread publisher {
    x.store(1, sc);
    y.store(1, rel);
}

thread updater {
    local a, b;
    a = FADD(y, 1, sc, sc);
    b = y.load(rlx);
    verify(a + b);
}

thread late {
    local c;
    y.store(3, sc);
    c = x.load(sc);
    verify(c);
}

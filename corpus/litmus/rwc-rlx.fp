// Read to write causality: a reader and a store buffer.
//
// The observer sees x but not y; the third thread writes y and does not see x. The cycle needs the reordering
// of y.store with the load after it, so also TSO and PSO show it.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y;

thread writer {
    x.store(1, rlx);
}

thread observer {
    local a, b;
    a = x.load(rlx);
    b = y.load(rlx);
    verify(a + b);
}

thread both {
    local c;
    y.store(1, rlx);
    c = x.load(rlx);
    verify(c);
}

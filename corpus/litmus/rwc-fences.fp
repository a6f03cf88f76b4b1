// Read to write causality with SC fences.
//
// A fence in each of the two threads with two accesses. The lone writer needs none: its one store has nothing
// to be reordered with.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread writer {
    x.store(1, rlx);
}

thread observer {
    local a, b;
    a = x.load(rlx);
    fence(sc);
    b = y.load(rlx);
    verify(a + b);
}

thread both {
    local c;
    y.store(1, rlx);
    fence(sc);
    c = x.load(rlx);
    verify(c);
}

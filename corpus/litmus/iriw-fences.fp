// Independent reads of independent writes, with SC fences in the readers.
//
// The reader whose fence comes second knows what the first reader had seen. Only the readers need fences.
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

thread write_x {
    x.store(1, rlx);
}

thread write_y {
    y.store(1, rlx);
}

thread read_xy {
    local a, b;
    a = x.load(rlx);
    fence(sc);
    b = y.load(rlx);
    verify(a + b);
}

thread read_yx {
    local a, b;
    a = y.load(rlx);
    fence(sc);
    b = x.load(rlx);
    verify(a + b);
}

// Independent reads of independent writes, relaxed.
//
// Two readers disagree on which of two unrelated writes came first. TSO and PSO are multi-copy atomic (a write
// becomes visible to all others at once), so they cannot disagree; RC20 and RA let them.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
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
    b = y.load(rlx);
    verify(a + b);
}

thread read_yx {
    local a, b;
    a = y.load(rlx);
    b = x.load(rlx);
    verify(a + b);
}

// A stale value used as an address.
//
// The loaded value selects which cell is read next. Where a program looks is an observation, even if it
// ignores what it finds.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y, cell[2];

thread left {
    local a, b;
    x.store(1, rlx);
    a = y.load(rlx);
    b = cell[a].load(rlx);
}

thread right {
    local a;
    y.store(1, rlx);
    a = x.load(rlx);
}

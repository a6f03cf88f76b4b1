// A stale value written back to memory.
//
// The left thread stores a value computed from what it read. Others can see it, so it counts as observed, even
// though the product with 0 is always 0: dependency is a matter of syntax.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y, out;

thread left {
    local a;
    x.store(1, rlx);
    a = y.load(rlx);
    out.store(a * 0, rlx);
}

thread right {
    local a;
    y.store(1, rlx);
    a = x.load(rlx);
}

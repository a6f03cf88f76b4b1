// Write to read causality with relaxed accesses.
//
// The relay sees x and raises y; the last thread sees y but not x. With relaxed accesses, what the relay knows
// does not travel with its store.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread source {
    x.store(1, rlx);
}

thread relay {
    local a;
    a = x.load(rlx);
    if (a == 1) {
        y.store(1, rlx);
    }
}

thread sink {
    local b, c;
    b = y.load(rlx);
    if (b == 1) {
        c = x.load(rlx);
        assert(c == 1);
    }
}

// Message passing with relaxed accesses.
//
// The reader sees the flag but not the data: the two relaxed stores (or the two relaxed loads) may be seen out
// of order, and the assertion, true in every interleaving, can fail. TSO keeps stores and loads in order; PSO
// lets the store of the flag overtake that of the data.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(rlx);
    if (f == 1) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

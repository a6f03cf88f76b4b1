// ISA2: a message passed on by a relay, relaxed.
//
// Like message passing, with a second flag raised by a relay. Relaxed flags carry nothing along the way, and
// the sink may miss the data. Under PSO the source's own two stores may already be swapped.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic data, y, z;

thread source {
    data.store(1, rlx);
    y.store(1, rlx);
}

thread relay {
    wait(y, 1, rlx);
    z.store(1, rlx);
}

thread sink {
    local d;
    wait(z, 1, rlx);
    d = data.load(rlx);
    assert(d == 1);
}

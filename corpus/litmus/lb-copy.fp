// Load buffering with copied values: nothing comes out of thin air.
//
// Each thread copies what it reads. The value 1 is nowhere written as a constant, so it must never appear, and
// it does not: SC proves the assertion and robustness carries it over.
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

thread left {
    local a;
    a = x.load(rlx);
    assert(a == 0);
    y.store(a, rlx);
}

thread right {
    local a;
    a = y.load(rlx);
    assert(a == 0);
    x.store(a, rlx);
}

// Write to read causality with release and acquire.
//
// Happens-before is transitive: the source's write is known to the relay, and the relay's knowledge is
// released with y. The assertion holds under weak memory as it does under SC.
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

thread source {
    x.store(1, rel);
}

thread relay {
    local a;
    a = x.load(acq);
    if (a == 1) {
        y.store(1, rel);
    }
}

thread sink {
    local b, c;
    b = y.load(acq);
    if (b == 1) {
        c = x.load(acq);
        assert(c == 1);
    }
}

// One of several choices is wrong.
//
// Three ways to publish, one of them relaxed. It takes just one bad choice, of the writer and of the schedule,
// to break the program; the search covers them all.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic data, ready;

thread writer {
    data.store(1, rlx);
    oneof({
        ready.store(1, rel);
    }{
        fence(rel);
        ready.store(1, rlx);
    }{
        ready.store(1, rlx);
    });
}

thread reader {
    local r, d;
    r = ready.load(acq);
    if (r) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

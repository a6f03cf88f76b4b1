// ISA2: a message passed on by a relay, with release and acquire.
//
// Two synchronizations in a row make the data known to the sink, which never communicates with the source.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic data, y, z;

thread source {
    data.store(1, rlx);
    y.store(1, rel);
}

thread relay {
    wait(y, 1, acq);
    z.store(1, rel);
}

thread sink {
    local d;
    wait(z, 1, acq);
    d = data.load(rlx);
    assert(d == 1);
}

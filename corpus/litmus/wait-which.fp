// A wait that says which of several values it read.
//
// The reader blocks until the writer has decided for 1 or 2; the wait returns the decision, and acquire makes
// the matching data known.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic data, decision;

thread writer {
    local v;
    v = oneof(1, 2);
    data.store(v, rlx);
    decision.store(v, rel);
}

thread reader {
    local v, d;
    v = wait(decision, 1, 2, acq);
    d = data.load(rlx);
    assert(d == v);
}

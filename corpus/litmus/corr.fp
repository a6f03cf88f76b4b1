// Coherence: two reads of one location.
//
// Even relaxed accesses agree on one order of the writes to a single location: having read the second value, a
// thread never goes back to the first. A program with one location is always robust.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x;

thread writer {
    x.store(1, rlx);
    x.store(2, rlx);
}

thread reader {
    local a, b;
    a = x.load(rlx);
    b = x.load(rlx);
    assert(a <= b);
}

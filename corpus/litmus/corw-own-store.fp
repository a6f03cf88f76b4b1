// Coherence: a thread reads its own store or something newer.
//
// Between its store and its load the owner may lose the location to the intruder, but never read the initial
// 0. Store buffers forward their own values; all models agree.
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

thread owner {
    local a;
    x.store(1, rlx);
    a = x.load(rlx);
    assert(a != 0);
}

thread intruder {
    x.store(2, rlx);
}

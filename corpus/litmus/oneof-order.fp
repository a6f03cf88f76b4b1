// The order of two independent accesses left open.
//
// oneof stands for "the compiler or I may write it either way". The two data stores may come in any order
// because the release store after them publishes both.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic a, b, ready;

thread writer {
    oneof({
        a.store(1, rlx);
        b.store(1, rlx);
    }{
        b.store(1, rlx);
        a.store(1, rlx);
    });
    ready.store(1, rel);
}

thread reader {
    local r, va, vb;
    r = ready.load(acq);
    if (r) {
        va = a.load(rlx);
        vb = b.load(rlx);
        assert(va == 1 && vb == 1);
    }
}

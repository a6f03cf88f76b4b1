// Data read early and discarded unless a check succeeds.
//
// The reader takes the flag, then both words, in the order that may mix old and new; it uses them only if the
// flag was up, and then they cannot be stale. Speculative reads of this kind are why observational robustness
// exists.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic first, second, ready;

thread writer {
    first.store(1, rlx);
    second.store(1, rlx);
    ready.store(1, rel);
}

thread reader {
    local r, a, b;
    r = ready.load(acq);
    b = second.load(rlx);
    a = first.load(rlx);
    if (r) {
        assert(a == 1 && b == 1);
    }
}

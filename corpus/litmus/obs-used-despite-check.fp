// Data read early and used although the check failed.
//
// Like obs-discarded-on-check, but the reader also looks at the two words when the flag was down, where they
// may be a mixture that no interleaving shows.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
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
    assert(b <= a);
}

// Message passing with a release and an acquire fence.
//
// A release fence makes later relaxed stores carry what preceded it; an acquire fence does the same for
// earlier relaxed loads. Note that the reader pays for its fence only when the flag is up.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    fence(rel);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(rlx);
    if (f == 1) {
        fence(acq);
        d = data.load(rlx);
        assert(d == 1);
    }
}

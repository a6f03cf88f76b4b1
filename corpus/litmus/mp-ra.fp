// Message passing with a release store and an acquire load.
//
// The pattern release-acquire was made for: whoever reads the flag by an acquire load knows everything that
// preceded its release store. The data itself may be relaxed.
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
    flag.store(1, rel);
}

thread reader {
    local f, d;
    f = flag.load(acq);
    if (f == 1) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

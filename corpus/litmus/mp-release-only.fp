// Message passing where only the writer synchronizes.
//
// The flag is released, but the reader's relaxed load does not acquire: reading 1 teaches it nothing about the
// data. Hardware that keeps loads in order (tso, pso) hides the mistake.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
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
    f = flag.load(rlx);
    if (f == 1) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

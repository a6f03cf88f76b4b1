// Message passing of non-atomic data with a relaxed flag.
//
// The flag is relaxed, so nothing orders the write and the read of the non-atomic data: a data race, which is
// undefined behaviour in C, C++ and Rust. The race is there even though in every interleaving the read comes
// after the write.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic flag;
na data;

thread writer {
    data.nastore(1);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(rlx);
    if (f == 1) {
        d = data.naload();
        assert(d == 1);
    }
}

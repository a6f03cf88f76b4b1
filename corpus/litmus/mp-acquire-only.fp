// Message passing where only the reader synchronizes.
//
// There is nothing to acquire: the relaxed store of the flag publishes only itself. PSO shows it too, because
// nothing keeps the two stores of the writer in order.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(acq);
    if (f == 1) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

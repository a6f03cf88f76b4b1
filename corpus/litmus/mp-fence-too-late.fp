// Message passing with the acquire fence after the data is read.
//
// A fence acts on what follows it. The load of the data comes before the fence, when the reader has seen the
// flag but not yet acquired what it carries.
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
    fence(rel);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(rlx);
    if (f == 1) {
        d = data.load(rlx);
        fence(acq);
        assert(d == 1);
    }
}

// Message passing of non-atomic data with release and acquire.
//
// The accesses to the data are ordered by happens-before whenever both occur: no race, and non-atomic data in
// a race-free program behaves as in an interleaving.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic flag;
na data;

thread writer {
    data.nastore(1);
    flag.store(1, rel);
}

thread reader {
    local f, d;
    f = flag.load(acq);
    if (f == 1) {
        d = data.naload();
        assert(d == 1);
    }
}

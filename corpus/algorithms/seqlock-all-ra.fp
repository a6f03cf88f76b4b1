// Sequence lock with release-acquire data.
//
// With release stores and acquire loads of the data every stale mixture is excluded and the program is robust
// in the plain sense: simpler to argue for, dearer to run.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 6;
const WRITES = 2;
atomic seq, x, y;

thread writer {
    local s, i;
    while (i < WRITES) {
        i = i + 1;
        s = seq.load(acq);
        seq.store(s + 1, rel);
        x.store(i, rel);
        y.store(i, rel);
        seq.store(s + 2, rel);
    }
}

thread reader {
    local s, e, a, b;
    while (true) {
        again:
        s = seq.load(acq);
        if (s % 2 == 1) goto again;
        a = x.load(acq);
        b = y.load(acq);
        e = seq.load(acq);
        if (e != s) goto again;
        assert(a == b);
    }
}

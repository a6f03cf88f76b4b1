// Sequence lock whose writer has no release fence.
//
// The odd version is stored relaxed and nothing publishes it together with the data: a reader may see new data
// without seeing that a write is under way.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 6;
const WRITES = 2;
atomic seq, x, y;

thread writer {
    local s, i;
    while (i < WRITES) {
        i = i + 1;
        s = seq.load(rlx);
        seq.store(s + 1, rlx);
        x.store(i, rlx);
        y.store(i, rlx);
        seq.store(s + 2, rel);
    }
}

thread reader {
    local s, e, a, b;
    while (true) {
        again:
        s = seq.load(acq);
        if (s % 2 == 1) goto again;
        a = x.load(rlx);
        b = y.load(rlx);
        fence(acq);
        e = seq.load(rlx);
        if (e != s) goto again;
        assert(a == b);
    }
}

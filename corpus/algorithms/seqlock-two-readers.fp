// Sequence lock, one writer and two readers, relaxed data.
//
// As seqlock-one-writer; readers do not write, so any number of them may read at the same time.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
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
        s = seq.load(rlx);
        seq.store(s + 1, rlx);
        fence(rel);
        x.store(i, rlx);
        y.store(i, rlx);
        seq.store(s + 2, rel);
    }
}

thread reader[2] {
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

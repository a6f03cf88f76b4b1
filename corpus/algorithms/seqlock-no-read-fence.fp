// Sequence lock whose reader has no fence.
//
// Without the acquire fence between the data and the second look, that look does not know the version that
// goes with the data: a torn pair is accepted and the assertion fails under weak memory, though never in an
// interleaving.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
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

thread reader {
    local s, e, a, b;
    while (true) {
        again:
        s = seq.load(acq);
        if (s % 2 == 1) goto again;
        a = x.load(rlx);
        b = y.load(rlx);
        e = seq.load(rlx);
        if (e != s) goto again;
        assert(a == b);
    }
}

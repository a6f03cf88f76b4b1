// Sequence lock, one writer and one reader, relaxed data.
//
// The reader takes the data between two looks at a version number and discards it if the number has changed.
// The data it discards may be a mixture that SC forbids: not robust, but observationally robust, which is
// enough for the assertion to carry over. WRITES bounds the version.

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
        fence(acq);
        e = seq.load(rlx);
        if (e != s) goto again;
        assert(a == b);
    }
}

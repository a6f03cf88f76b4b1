// Sequence lock, two writers and a reader.
//
// Writers take the lock by moving the version from even to odd with a BCAS, which acquires; the release fence
// after it publishes the odd version together with the data.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 6;
atomic seq, x, y;

thread writer[2] {
    local s;
    s = wait(seq, 0, 2, 4, rlx);
    BCAS(seq, s, s + 1, acq, rlx);
    fence(rel);
    x.store(writer + 1, rlx);
    y.store(writer + 1, rlx);
    seq.store(s + 2, rel);
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

// Sequence lock with fences, three threads that write and read.
//
// The reader validates by an acquire fence and a second, relaxed look at the version. Its data may be torn
// while it is not yet validated: observationally robust only.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 19;
const WRITES = 3;
atomic seq, x, y;

thread t[3] {
    local i, s, e, a, b;
    while (i < WRITES) {
        oneof({
            // write
            i = i + 1;
            retry:
            s = seq.load(rlx);
            if (s % 2 == 1) goto retry;
            e = CAS(seq, s, s + 1, rlx, rlx);
            if (e != s) goto retry;
            fence(acq_rel);
            x.store(i, rlx);
            y.store(i, rlx);
            seq.store(s + 2, rel);
        }{
            // read
            again:
            s = seq.load(rlx);
            if (s % 2 == 1) goto again;
            fence(acq);
            a = x.load(rlx);
            b = y.load(rlx);
            fence(acq);
            e = seq.load(rlx);
            if (e != s) goto again;
            assert(a == b);
        });
    }
}

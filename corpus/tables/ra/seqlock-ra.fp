// Sequence lock with release and acquire throughout, three threads.
//
// Acquire loads of the data make every torn pair impossible, not only invisible: robust in the plain sense.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
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
            s = seq.load(acq);
            if (s % 2 == 1) goto retry;
            e = CAS(seq, s, s + 1, acq, rel);
            if (e != s) goto retry;
            x.store(i, rel);
            y.store(i, rel);
            seq.store(s + 2, rel);
        }{
            // read
            again:
            s = seq.load(acq);
            if (s % 2 == 1) goto again;
            a = x.load(acq);
            b = y.load(acq);
            e = seq.load(acq);
            if (e != s) goto again;
            assert(a == b);
        });
    }
}

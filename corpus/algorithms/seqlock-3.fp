// Sequence lock, three threads that all write and read.
//
// Every thread writes twice and reads in between; writers retry by CAS. A larger state space with versions up
// to 12, meant for benchmarks too.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 13;
const WRITES = 2;
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
            e = CAS(seq, s, s + 1, acq, rlx);
            if (e != s) goto retry;
            fence(rel);
            x.store(i, rlx);
            y.store(i, rlx);
            seq.store(s + 2, rel);
        }{
            // read
            again:
            s = seq.load(acq);
            if (s % 2 == 1) goto again;
            a = x.load(rlx);
            b = y.load(rlx);
            fence(acq);
            e = seq.load(rlx);
            if (e != s) goto again;
            assert(a == b);
        });
    }
}

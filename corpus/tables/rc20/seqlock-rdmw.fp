// Sequence lock validated by a read-don't-modify-write, three threads.
//
// The reader validates by a release RMW that writes back the version it read. If the RMW succeeds, later
// writers synchronize with it, so the reads before it cannot have seen their data; the writer then needs no
// release fence.
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
            fence(acq);
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
            BCAS(seq, s, s, rlx, rel);
            assert(a == b);
        });
    }
}

// Peterson's lock for C11 with an exchange, as proposed on the web.
//
// Argued correct, tested and even proved, for one entry of each thread. With repeated entries it fails: a
// thread let in by the relaxed load of `turn` has not acquired the critical section before, and its accesses
// to `cs` show it. Under RA that load would acquire.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic interested[2], turn, cs;

thread t[2] {
    local f, w, r;
    while (true) {
        // lock
        interested[t].store(1, rlx);
        exchange(turn, 1 - t, acq, rel);
        spin:
        f = interested[1 - t].load(acq);
        if (f == 0) goto enter;
        w = turn.load(rlx);
        if (w == 1 - t) goto spin;
        enter:

        // critical section
        cs.store(t, rlx);
        r = cs.load(rlx);
        assert(r == t);

        // unlock
        interested[t].store(0, rel);
    }
}

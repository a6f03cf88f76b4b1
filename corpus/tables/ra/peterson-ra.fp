// Peterson's lock with an exchange, release and acquire throughout.
//
// The exchange of `turn` orders the two entry protocols. Everything else is release or acquire.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
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
        interested[t].store(1, rel);
        exchange(turn, 1 - t, acq, rel);
        spin:
        f = interested[1 - t].load(acq);
        if (f == 0) goto enter;
        w = turn.load(acq);
        if (w == 1 - t) goto spin;
        enter:

        // critical section
        cs.store(t, rel);
        r = cs.load(acq);
        assert(r == t);

        // unlock
        interested[t].store(0, rel);
    }
}

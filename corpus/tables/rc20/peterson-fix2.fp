// Peterson's lock for C11, repaired by an acquire fence.
//
// Second repair: one acquire fence on entering serves both ways in, and both loads of the loop may be relaxed.
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
        interested[t].store(1, rlx);
        exchange(turn, 1 - t, acq, rel);
        spin:
        f = interested[1 - t].load(rlx);
        if (f == 0) goto enter;
        w = turn.load(rlx);
        if (w == 1 - t) goto spin;
        enter:
        fence(acq);

        // critical section
        cs.store(t, rlx);
        r = cs.load(rlx);
        assert(r == t);

        // unlock
        interested[t].store(0, rel);
    }
}

// Dekker's mutual exclusion with relaxed accesses and few fences.
//
// All accesses are relaxed; SC fences after raising a flag, an acquire fence before and a release fence after
// the critical section do everything. One entry of each thread, as published.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic flag[2], turn;
na cs;

thread t[2] {
    local f, w, r;
    flag[t].store(1, rlx);
    fence(sc);
    f = flag[1 - t].load(rlx);
    while (f == 1) {
        w = turn.load(rlx);
        if (w != t) {
            flag[t].store(0, rlx);
            while (w != t) {
                w = turn.load(rlx);
            }
            flag[t].store(1, rlx);
            fence(sc);
        }
        f = flag[1 - t].load(rlx);
    }
    fence(acq);

    // critical section
    cs.nastore(t);
    r = cs.naload();
    assert(r == t);

    turn.store(1 - t, rlx);
    fence(rel);
    flag[t].store(0, rlx);
}

// Peterson's mutual exclusion with relaxed accesses.
//
// Both threads raise their flag, give the turn away and may both read the other's flag as down: store
// buffering inside a lock. The race on `cs` is there even in runs where they exclude each other, because a
// relaxed unlock does not publish the critical section.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect rc20 races: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
atomic interested[2], turn;
na cs;

thread t[2] {
    local f, w, r;
    while (true) {
        // lock
        interested[t].store(1, rlx);
        turn.store(1 - t, rlx);
        f = 1;
        w = 1 - t;
        while (f == 1 && w != t) {
            f = interested[1 - t].load(rlx);
            w = turn.load(rlx);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        // unlock
        interested[t].store(0, rlx);
    }
}

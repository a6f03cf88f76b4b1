// Peterson's mutual exclusion with two SC fences.
//
// A fence after each of the two stores makes the algorithm robust: then interleaving is all one has to think
// about. The unlock is released, so that critical sections are ordered.
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
atomic interested[2], turn;
na cs;

thread t[2] {
    local f, w, r;
    while (true) {
        // lock
        interested[t].store(1, rel);
        fence(sc);
        turn.store(1 - t, rel);
        fence(sc);
        f = 1;
        w = 1 - t;
        while (f == 1 && w != t) {
            f = interested[1 - t].load(acq);
            w = turn.load(acq);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        // unlock
        interested[t].store(0, rel);
    }
}

// Peterson's mutual exclusion with release stores and acquire loads.
//
// Release and acquire are not enough: the loads of the entry loop may still overtake the stores before it.
// Compare peterson-fences for what is missing.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
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
        interested[t].store(1, rel);
        turn.store(1 - t, rel);
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

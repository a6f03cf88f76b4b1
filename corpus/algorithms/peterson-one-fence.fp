// Peterson's mutual exclusion with the one fence everybody adds.
//
// The fence before the loop is all that TSO and PSO need. Yet the program is not robust against RC20 and RA:
// the store of `turn` may be ordered before the other thread's older one, because nothing has told the thread
// of that store when it overwrites `turn`.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
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

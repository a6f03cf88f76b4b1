// Szymanski's mutual exclusion, two threads, fenced.
//
// A fence after each announcement. Waits name the states they accept, so only a stale state of the accepted
// kind could do harm.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
atomic state[2];
na cs;

thread t[2] {
    local s, r;
    while (true) {
        state[t].store(1, rel);              // standing outside the waiting room
        fence(sc);
        wait(state[1 - t], 0, 1, 2, acq);    // until the door is open
        state[t].store(3, rel);              // in the doorway
        fence(sc);
        s = state[1 - t].load(acq);
        if (s == 1) {
            state[t].store(2, rel);          // wait for the other to come in
            fence(sc);
            wait(state[1 - t], 4, acq);
        }
        state[t].store(4, rel);              // door closed behind me
        fence(sc);
        if (t == 1) {
            wait(state[0], 0, 1, acq);       // smaller numbers go first
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        if (t == 0) {
            wait(state[1], 0, 1, 4, acq);    // nobody is left in the doorway
        }
        state[t].store(0, rel);
    }
}

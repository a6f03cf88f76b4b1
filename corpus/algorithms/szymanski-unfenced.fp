// Szymanski's mutual exclusion, two threads, no fences.
//
// Threads pass a waiting room with a door; each step announces a state and then looks at the other's. Every
// one of these pairs is store buffering.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 4;
atomic state[2];
na cs;

thread t[2] {
    local s, r;
    while (true) {
        state[t].store(1, rel);              // standing outside the waiting room
        wait(state[1 - t], 0, 1, 2, acq);    // until the door is open
        state[t].store(3, rel);              // in the doorway
        s = state[1 - t].load(acq);
        if (s == 1) {
            state[t].store(2, rel);          // wait for the other to come in
            wait(state[1 - t], 4, acq);
        }
        state[t].store(4, rel);              // door closed behind me
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

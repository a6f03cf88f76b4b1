// Dekker's mutual exclusion with SC fences.
//
// A fence after every store to a flag that is followed by a load of the other side's state. Release and
// acquire do the rest: the critical sections are ordered by happens-before.
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
    local other, w, r;
    while (true) {
        flag[t].store(1, rel);
        fence(sc);
        other = flag[1 - t].load(acq);
        while (other == 1) {
            w = turn.load(acq);
            if (w != t) {
                // not my turn: step back until it is
                flag[t].store(0, rel);
                fence(sc);
                wait(turn, t, acq);
                flag[t].store(1, rel);
                fence(sc);
            }
            other = flag[1 - t].load(acq);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        turn.store(1 - t, rel);
        flag[t].store(0, rel);
    }
}

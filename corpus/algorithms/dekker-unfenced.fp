// Dekker's mutual exclusion without fences.
//
// The oldest mutual exclusion algorithm, and the program store buffering is named after in some texts: both
// threads raise a flag and see the other's down.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
atomic flag[2], turn;
na cs;

thread t[2] {
    local other, w, r;
    while (true) {
        flag[t].store(1, rel);
        other = flag[1 - t].load(acq);
        while (other == 1) {
            w = turn.load(acq);
            if (w != t) {
                // not my turn: step back until it is
                flag[t].store(0, rel);
                wait(turn, t, acq);
                flag[t].store(1, rel);
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

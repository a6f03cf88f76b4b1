// Dekker's mutual exclusion with fences, release and acquire throughout.
//
// Fences after every change of a flag that is followed by a look at the other thread. Entered again and again.
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
    while (true) {
        begin:
        flag[t].store(1, rel);
        fence(sc);
        f = flag[1 - t].load(acq);
        while (f == 1) {
            w = turn.load(acq);
            if (w != t) {
                flag[t].store(0, rel);
                fence(sc);
                while (w != t) {
                    w = turn.load(acq);
                }
                goto begin;
            }
            f = flag[1 - t].load(acq);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        turn.store(1 - t, rel);
        flag[t].store(0, rel);
    }
}

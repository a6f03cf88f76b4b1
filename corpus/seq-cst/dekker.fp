// Dekker's mutual exclusion, written without thinking about memory orders.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated
// expect rc11 races: holds
// expect rc11 assertions: holds

max_value 2;
atomic flag[2], turn;
na cs;

thread t[2] {
    local other, w, r;
    while (true) {
        flag[t].store(1, sc);
        other = flag[1 - t].load(sc);
        while (other == 1) {
            w = turn.load(sc);
            if (w != t) {
                flag[t].store(0, sc);
                wait(turn, t, sc);
                flag[t].store(1, sc);
            }
            other = flag[1 - t].load(sc);
        }
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);
        turn.store(1 - t, sc);
        flag[t].store(0, sc);
    }
}

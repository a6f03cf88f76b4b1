// Peterson's mutual exclusion, all accesses `seq_cst`.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated
// expect rc11 races: holds
// expect rc11 assertions: holds

max_value 2;
atomic interested[2], turn;
na cs;

thread t[2] {
    local f, w, r;
    while (true) {
        interested[t].store(1, sc);
        turn.store(1 - t, sc);
        f = 1;
        w = 1 - t;
        while (f == 1 && w != t) {
            f = interested[1 - t].load(sc);
            w = turn.load(sc);
        }
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);
        interested[t].store(0, sc);
    }
}

// Lamport's fast mutual exclusion for two, all accesses `seq_cst`.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc11 races: holds

max_value 2;
atomic b[2], x, y;
na cs;

thread t[2] {
    local v, r, done;
    done = 0;
    while (done == 0) {
        b[t].store(1, sc);
        x.store(t + 1, sc);
        v = y.load(sc);
        if (v != 0) {
            b[t].store(0, sc);
            wait(y, 0, sc);
        } else {
            y.store(t + 1, sc);
            v = x.load(sc);
            if (v != t + 1) {
                b[t].store(0, sc);
                wait(b[1 - t], 0, sc);
                v = y.load(sc);
                if (v == t + 1) {
                    done = 1;
                } else {
                    wait(y, 0, sc);
                }
            } else {
                done = 1;
            }
        }
    }
    cs.nastore(t);
    r = cs.naload();
    assert(r == t);
    y.store(0, sc);
    b[t].store(0, sc);
}

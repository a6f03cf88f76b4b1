// Peterson's mutual exclusion with one load weaker: whose turn it is, is read by acquire.
//
// Nobody is harmed, but an old turn may be read, and interleaving does not explain it.
//
// expect rc11 robustness: violated

max_value 2;
atomic interested[2], turn;

thread t[2] {
    local f, w;
    while (true) {
        interested[t].store(1, sc);
        turn.store(1 - t, sc);
        f = 1;
        w = 1 - t;
        while (f == 1 && w != t) {
            f = interested[1 - t].load(acq);
            w = turn.load(acq);
        }
        interested[t].store(0, rel);
    }
}

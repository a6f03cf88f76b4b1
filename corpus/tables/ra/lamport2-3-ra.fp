// Lamport's fast mutual exclusion (algorithm 2), three threads.
//
// SC fences around the accesses to x and y, blocking waits for the busy flags. Each thread first waits for the
// flags of the others, with a fence in between so that it does not see them in an order nobody else does.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 5;
const N = 3;
atomic busy[N], x, y;
na cs;

thread t[N] {
    local v, r;
    while (true) {
        try:
        busy[t].store(1, rel);
        fence(sc);
        x.store(t + 1, rel);
        fence(sc);
        v = y.load(acq);
        if (v != 0) {
            busy[t].store(0, rel);
            wait(y, 0, acq);
            goto try;
        }
        y.store(t + 1, rel);
        fence(sc);
        v = x.load(acq);
        fence(sc);
        if (v != t + 1) {
            busy[t].store(0, rel);
            wait(busy[(t + 1) % N], 0, acq);
            fence(sc);
            wait(busy[(t + 2) % N], 0, acq);
            v = y.load(acq);
            if (v != t + 1) {
                wait(y, 0, acq);
                goto try;
            }
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        y.store(0, rel);
        busy[t].store(0, rel);
    }
}

// Lamport's fast mutual exclusion, three threads, fenced, one entry each.
//
// The same as lamport-fast-2-fenced with a third thread. With three of them the slow path, waiting for each
// busy flag in turn, matters: two may find a third one in their way.
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
const N = 3;
const ENTRIES = 1;
atomic busy[N], x, y;
na cs;

thread t[N] {
    local v, j, r, entries;
    while (entries < ENTRIES) {
        start:
        busy[t].store(1, rel);
        fence(sc);
        x.store(t + 1, rel);
        fence(sc);
        v = y.load(acq);
        if (v != 0) {
            busy[t].store(0, rel);
            wait(y, 0, acq);
            goto start;
        }
        y.store(t + 1, rel);
        fence(sc);
        v = x.load(acq);
        fence(sc);
        if (v != t + 1) {
            // contention: wait until nobody else is on the fast path
            busy[t].store(0, rel);
            fence(sc);
            j = 0;
            while (j < N) {
                wait(busy[j], 0, acq);
                fence(sc);
                j = j + 1;
            }
            v = y.load(acq);
            if (v != t + 1) {
                wait(y, 0, acq);
                goto start;
            }
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        y.store(0, rel);
        busy[t].store(0, rel);
        entries = entries + 1;
    }
}

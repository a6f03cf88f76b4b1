// Lamport's fast mutual exclusion, two threads, no fences.
//
// Fast because without contention it takes a constant number of accesses: write x, read y, write y, read x.
// Each read follows a write to another location, and without fences each may be stale.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 3;
const N = 2;
atomic busy[N], x, y;
na cs;

thread t[N] {
    local v, j, r;
    while (true) {
        start:
        busy[t].store(1, rel);
        x.store(t + 1, rel);
        v = y.load(acq);
        if (v != 0) {
            busy[t].store(0, rel);
            wait(y, 0, acq);
            goto start;
        }
        y.store(t + 1, rel);
        v = x.load(acq);
        if (v != t + 1) {
            // contention: wait until nobody else is on the fast path
            busy[t].store(0, rel);
            j = 0;
            while (j < N) {
                wait(busy[j], 0, acq);
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
    }
}

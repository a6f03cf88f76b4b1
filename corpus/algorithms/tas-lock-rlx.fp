// Test-and-set spin lock that does not acquire.
//
// Mutual exclusion holds: the exchange is atomic. But the owner has not acquired what the previous owner
// released, so their accesses to the data race.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic l;
na cs;

thread t[2] {
    local r;
    while (true) {
        r = exchange(l, 1, rlx, rlx);
        while (r == 1) {
            r = exchange(l, 1, rlx, rlx);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        l.store(0, rel);
    }
}

// Test-and-test-and-set spin lock.
//
// Waits on a read, which keeps the cache line shared, before it tries the exchange. The wait is relaxed: it is
// only a hint, and the exchange that follows acquires.
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
atomic l;
na cs;

thread t[3] {
    local r;
    while (true) {
        r = 1;
        while (r == 1) {
            wait(l, 0, rlx);
            r = exchange(l, 1, acq, rlx);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        l.store(0, rel);
    }
}

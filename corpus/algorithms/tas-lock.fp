// Test-and-set spin lock.
//
// exchange is the lock: whoever gets 0 back is inside. Acquire on the way in and release on the way out order
// the critical sections. Spinning on an RMW is robust: an RMW never reads a stale value.
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
        r = exchange(l, 1, acq, rlx);
        while (r == 1) {
            r = exchange(l, 1, acq, rlx);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        l.store(0, rel);
    }
}

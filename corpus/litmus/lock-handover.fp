// Non-atomic data protected by a lock.
//
// lock is a blocking compare-and-swap that acquires, unlock a release store: critical sections are ordered by
// happens-before, one after the other, and the data needs no atomics.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic l;
na balance = 1;

thread t[2] {
    local b;
    lock(l);
    b = balance.naload();
    balance.nastore(b + 1);
    unlock(l);
}

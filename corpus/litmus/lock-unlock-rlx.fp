// A lock released by a relaxed store.
//
// Mutual exclusion still holds: only one thread at a time is inside. But a relaxed unlock does not publish the
// critical section, so the next owner races with the last one. Exclusion without ordering is not enough.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 3;
atomic l;
na balance = 1;

thread t[2] {
    local b;
    lock(l);
    b = balance.naload();
    balance.nastore(b + 1);
    l.store(0, rlx);
}

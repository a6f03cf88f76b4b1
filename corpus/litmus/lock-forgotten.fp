// One thread forgets the lock.
//
// A lock protects against those who take it. The auditor reads the balance without, which races with the
// deposits.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic l;
na balance = 1;

thread deposit[2] {
    local b;
    lock(l);
    b = balance.naload();
    balance.nastore(b + 1);
    unlock(l);
}

thread auditor {
    local b;
    b = balance.naload();
    assert(b >= 1);
}

// Double-checked locking done right.
//
// The first check acquires; the check under the lock may be relaxed, because taking the lock already acquired
// what its last owner did. The object is non-atomic and never raced for.
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
atomic instance, l;
na payload[2];

thread t[3] {
    local p, v;
    p = instance.load(acq);
    if (p == 0) {
        lock(l);
        p = instance.load(rlx);
        if (p == 0) {
            p = oneof(1, 2);
            payload[p - 1].nastore(p);
            instance.store(p, rel);
        }
        unlock(l);
    }
    v = payload[p - 1].naload();
    assert(v == p);
}

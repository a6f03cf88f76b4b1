// Double-checked locking with a relaxed first check.
//
// The classic mistake: a thread sees the pointer, skips the lock, and reads the object behind it without
// having acquired it. A race, invisible on hardware that keeps loads in order.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic instance, l;
na payload[2];

thread t[3] {
    local p, v;
    p = instance.load(rlx);
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

// Double-checked locking, four threads, relaxed checks.
//
// The check under the lock may be relaxed, for the lock has acquired already; the first one too, if a fence on
// the fast path makes up for it.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
const COPIES = 3;
atomic instance, l, object[COPIES];

thread t[4] {
    local p, v;
    p = instance.load(rlx);
    if (p == 0) {
        lock(l);
        p = instance.load(rlx);
        if (p == 0) {
            // allocate anywhere
            p = oneof(1, 2, 3);
            object[p - 1].store(p, rlx);
            instance.store(p, rel);
        }
        unlock(l);
    } else {
        fence(acq);
    }
    v = object[p - 1].load(rlx);
    assert(v == p);
}

// Double-checked locking with an acquire fence on the fast path.
//
// The repair when the first load has to stay relaxed: pay for a fence only when the pointer is there.
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
    } else {
        fence(acq);
    }
    v = payload[p - 1].naload();
    assert(v == p);
}

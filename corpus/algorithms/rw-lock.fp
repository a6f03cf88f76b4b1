// Readers-writer lock.
//
// `state` counts readers, 3 means a writer. Readers enter by CAS unless a writer is inside, writers from 0
// only. The reader's first look is relaxed; it is the CAS that acquires.
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
const WRITER = 3;
atomic state;
na a, b;

thread reader[2] {
    local s, r, va, vb;
    while (true) {
        s = wait(state, 0, 1, rlx);
        r = CAS(state, s, s + 1, acq, rlx);
        if (r == s) {
            va = a.naload();
            vb = b.naload();
            assert(va == vb);
            FADD(state, -1, rlx, rel);
        }
    }
}

thread writer {
    local v;
    while (true) {
        BCAS(state, 0, WRITER, acq, rlx);
        v = a.naload();
        a.nastore(1 - v);
        b.nastore(1 - v);
        state.store(0, rel);
    }
}

// A value set once and awaited by several threads.
//
// Two setters race to claim the promise by CAS; the winner writes the value and marks it ready. Both getters
// see the same value.
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
const READY = 2;
atomic state;
na value;

thread setter[2] {
    local r;
    r = CAS(state, 0, 1, rlx, rlx);
    if (r == 0) {
        value.nastore(setter + 1);
        state.store(READY, rel);
    }
}

thread getter[2] {
    local v;
    wait(state, READY, acq);
    v = value.naload();
    assert(v == 1 || v == 2);
}

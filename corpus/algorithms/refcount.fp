// Reference counting as in Arc.
//
// Cloning is relaxed: whoever clones holds a reference already. Dropping releases, and the last one acquires
// (by a fence, paid only once) before it destroys the object: then all earlier uses happen before.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 6;
atomic count = 3;
na object = 1;

thread owner[3] {
    local old, v;
    v = object.naload();
    assert(v == 1);

    // pass a clone to myself and drop it again
    FADD(count, 1, rlx, rlx);
    v = object.naload();
    assert(v == 1);
    old = FADD(count, -1, rlx, rel);
    assert(old != 1);

    old = FADD(count, -1, rlx, rel);
    if (old == 1) {
        fence(acq);
        object.nastore(0);
    }
}

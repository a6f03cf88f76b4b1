// Reference counting without the final acquire.
//
// All drops release, but nobody acquires. The release sequence through the other drops is there for the
// taking; the last owner has to take it.
//
// expect sc assertions: holds
// expect rc20 races: violated
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
        object.nastore(0);
    }
}

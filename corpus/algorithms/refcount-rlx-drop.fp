// Reference counting with a relaxed drop.
//
// The count is right, but the last owner does not know that the others have finished with the object:
// destroying it races with their last reads.
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
    old = FADD(count, -1, rlx, rlx);
    assert(old != 1);

    old = FADD(count, -1, rlx, rlx);
    if (old == 1) {
        fence(acq);
        object.nastore(0);
    }
}

// Reference counting in which each owner, having dropped its reference, notes that it left and looks whether the
// other has: both may miss each other's note. The count decides who destroys the object, so it is safe.
//
// expect rc11 robustness: violated

max_value 3;
atomic count = 2, left[2];
na object = 1;

thread owner[2] {
    local old, v, other;
    v = object.naload();
    assert(v == 1);
    left[owner].store(1, rlx);
    other = left[1 - owner].load(rlx);
    old = FADD(count, -1, rlx, rel);
    if (old == 1) {
        fence(acq);
        object.nastore(0);
    }
}

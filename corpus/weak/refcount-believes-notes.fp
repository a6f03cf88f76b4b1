// The notes of refcount-last-look.fp decide who destroys the object: whoever does not see the other's note takes
// itself for the last one. Both may, and then both destroy it.
//
// expect rc11 robustness: violated

max_value 3;
atomic left[2], destroyed;

thread owner[2] {
    local other, d;
    left[owner].store(1, rel);
    other = left[1 - owner].load(acq);
    if (other == 0) {
        d = exchange(destroyed, 1, rlx, rlx);
        assert(d == 0);
    }
}

// A CAS whose failure decides, and is relaxed.
//
// Both try to close the other's gate after opening their own; a failed CAS is how they see that it is closed. The failure
// is a relaxed load, which may be stale.
//
// expect rc11 robustness: violated

max_value 2;
atomic gate[2];

thread t[2] {
    local old;
    gate[t].store(1, sc);
    old = CAS(gate[1 - t], 2, 0, sc, sc, rlx);
    verify(old);
}

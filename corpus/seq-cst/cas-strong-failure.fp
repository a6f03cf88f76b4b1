// The same with failures that are `seq_cst`, too: a failed CAS is a load in the order of all `seq_cst` accesses.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 2;
atomic gate[2];

thread t[2] {
    local old;
    gate[t].store(1, sc);
    old = CAS(gate[1 - t], 2, 0, sc, sc, sc);
    verify(old);
}

// Two threads that each announce themselves and look for the other, all seq_cst by read-modify-writes: one of them at
// least sees the other, and exactly the last one to arrive frees what both have used.
//
// expect rc11 robustness: holds
// expect rc11 races: holds

max_value 255;
atomic arrived, seen[2];
na shared;

thread t[2] {
    local before, other, v;
    seen[t].store(1, sc);
    other = seen[1 - t].load(sc);
    before = FADD(arrived, 1, sc, sc);
    if (before == 0) {
        // Not the last: the other will see that it is.
        v = 0;
    } else {
        shared.nastore(1);
        v = shared.naload();
        assert(v == 1);
        other = seen[1 - t].load(sc);
        assert(other == 1);
    }
}

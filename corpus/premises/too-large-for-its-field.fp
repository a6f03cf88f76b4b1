// `u` and `v` are never equal, so nothing is ever stored to `y`. A search that does not tell small
// numbers apart may come to the store all the same; a value that `y` never has does not fit in the
// bits that `y` takes, and is no state of the program.
// expect rc20 assertions: holds
// expect sc assertions: holds

max_value 7;
atomic y = 2, d = 1, e[2] = 0;

thread t[2] {
    local u, v;
    u = d.load(acq);
    assume(u < 2);
    CAS(d, u, u + 1, acq, rel);
    v = e[1 - t].load(acq);
    if (u == v) {
        y.store(1, rel);
    }
    v = y.load(acq);
    assert(v == 2);
}

// A counter that grows by a weak CAS, which may fail although nobody interfered: the loop tries again.
// expect rc20 robustness: holds
// expect rc20 assertions: holds
max_value 3;
global x;
thread t[2] {
    local ok, r;
    do { ok, r = weak_CAS(x, r, r + 1, acq, rel, rlx); } while (!ok);
    assert(r < 2);
}

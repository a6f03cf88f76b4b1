// `t` holds what it loaded from `x`, which `u` overwrites again and again while the clock `c` goes on. When 3 is
// overwritten, 3 and what `t` holds may both be so far behind `c` that a search no longer tells them apart, but if `t` holds
// 1 they are not the same, and the CAS may fail on a stale 3.
//
// expect rc20 robustness: violated
// expect ra robustness: holds

atomic c, x, y;

thread u {
    local a;
    a = c.load(rlx);
    assume(a < 200);
    c.store(a + 1, rlx);
    a = c.load(rlx);
    exchange(x, a, rlx, rlx);
    a = c.load(rlx);
    assume(a < 200);
    c.store(a + 2, rlx);
    a = c.load(rlx);
    exchange(x, a, rlx, rlx);
    a = c.load(rlx);
    assume(a < 200);
    c.store(a + 2, rlx);
    a = c.load(rlx);
    exchange(x, a, rlx, rlx);
    y.store(1, rlx);
}

thread t {
    local r, s;
    r = x.load(rlx);
    wait(y, 1, rlx);
    s = CAS(x, r, r, rlx, rlx);
}

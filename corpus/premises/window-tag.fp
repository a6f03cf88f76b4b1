// `x` holds what the counter `c` showed some time ago, and `t` compares it with what it loaded. Both
// numbers may be so far behind `c` that a search no longer tells them apart, but 1 and 3 are not the
// same: the CAS may fail on a stale 1 although `x` is 3 by then.
// expect rc20 robustness: violated

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
    c.store(a + 1, rlx);
    a = c.load(rlx);
    assume(a < 200);
    c.store(a + 1, rlx);
    a = c.load(rlx);
    exchange(x, a, rlx, rlx);
    y.store(1, rlx);
}

thread t {
    local r, s, q;
    r = x.load(rlx);
    wait(y, 1, rlx);
    s = CAS(x, r, r, rlx, rlx);
    q = x.load(rlx);
    assert(s == q);
}

// `z` is far ahead of the clock `c` from the start, and a CAS compares it with what `c` showed. Monitors have no room for numbers
// so far ahead, not even for those that the program begins with, and a search that has no room for the first state has
// not looked at any.
//
// expect rc20 robustness: holds
// expect rc20 assertions: violated
// expect ra assertions: violated
// expect sc assertions: violated

atomic c = 5, z = 50, y;

thread u {
    local a;
    a = c.load(rlx);
    assume(a < 100);
    c.store(a + 1, rlx);
    y.store(1, rlx);
}

thread t {
    local r, s;
    r = c.load(rlx);
    CAS(z, r, r, rlx, rlx);
    s = y.load(rlx);
    assert(s == 0);
}

// `d` falls behind the clock `c` by more than it ever was: 3, where both were 5 at first. A search that takes what is far
// behind for as far behind as its window reaches holds 4 for it, and the guard, which stops 4, must not stop 3.
//
// expect sc assertions: violated
// expect rc20 assertions: violated
// expect rc20 robustness: holds

atomic c = 5, d = 5;

thread t {
    local r, s;
    r = c.load(rlx);
    d.store(r - 2, rlx);
    s = d.load(rlx);
    assume(s < 4);
    assert(0);
}

thread u {
    local a;
    a = c.load(rlx);
    assume(a < 100);
    c.store(a + 1, rlx);
}

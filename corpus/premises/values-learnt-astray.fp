// A search under plain SC learns first which values `z` takes, to know what `k` can meet there. It makes `c` smaller, by as
// much as it has grown, and then 40 is more than there is: `e` wraps around, which it never does in the program, the branch is
// not taken, and `z` is never 6. What such a search has seen must not be believed: 6 is what `B` may read of the past.
//
// expect rc20 robustness: violated
// expect rc11 robustness: violated
// expect ra robustness: holds

max_value 250;
atomic c = 5, z, f, m = 1;

thread A {
    local a, b, e;
    a = c.load(rlx);
    assume(a < 100);
    c.store(a + 50, rlx);
    b = c.load(rlx);
    e = b - 40;
    if (e < b) {
        z.store(6, rlx);
    }
    z.store(7, rlx);
    f.store(1, rlx);
}

thread B {
    local k;
    wait(f, 1, rlx);
    k = m.load(rlx);
    m.store(k * 6, rlx);
    k = m.load(rlx);
    wait(z, k, rlx);
}

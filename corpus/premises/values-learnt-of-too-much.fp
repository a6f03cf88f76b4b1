// A search under plain SC learns first which values `z` takes. It makes `c` and `a` smaller, by as much as both have grown, and
// then the second guard, which stops every run of the program, lets it pass: 9 does not fit in the bits that `y`
// takes, and nothing is learnt like that.
//
// expect rc20 robustness: holds
// expect ra robustness: holds

max_value 250;
atomic c = 5, y, z, m = 1;

thread A {
    local a;
    a = c.load(rlx);
    assume(a < 6);
    a = a + 50;
    c.store(a, rlx);
    assume(a < 20);
    y.store(9, rlx);
}

thread B {
    local k;
    k = m.load(rlx);
    m.store(k * 6, rlx);
    k = m.load(rlx);
    wait(z, k, rlx);
    z.store(3, rlx);
}

// Three threads: one sets x, one stores twice to y and then finds x unset, one finds x set and then sees y before and
// after the first store.
//
// expect tso robustness: violated
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 2;
global x, y;

thread one { x.store(1, rlx); }

thread two {
    local a;
    y.store(2, rlx);
    y.store(1, rlx);
    a = x.load(rlx);
    assume(a == 0);
}

thread three {
    local b, c;
    b = x.load(rlx);
    assume(b == 1);
    c = y.load(rlx);
    assume(c == 0);
    c = y.load(rlx);
    assume(c == 2);
}

// A stale value that is divided by is used, whatever becomes of the result: 1 / 0 has none, and the thread does not go on.
//
// expect rc11 observational-robustness: violated
// expect rc20 observational-robustness: violated
// expect sc assertions: holds

atomic x, y;

thread writer {
    x.store(1, rlx);
    y.store(1, rlx);
}

thread reader {
    local r, s;
    wait(y, 1, rlx);
    s = x.load(rlx);
    r = 1 / s;
}

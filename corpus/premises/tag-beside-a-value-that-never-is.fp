// `t0` compares `x` with what it loaded, `t1` with 2, which `x` never is. Monitors that remember stale
// values of `x` only as "the one in r" and "any other" must still know that there is one: the CAS of
// `t1` fails either way, but on 0 although 1 came before it.
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds

atomic x, a;

thread t0 {
    local r;
    r = x.load(rlx);
    CAS(x, r, 1, rlx, rlx);
    a.store(2, rlx);
}

thread t1 {
    local r;
    r = FADD(a, 0, acq, rlx);
    r = CAS(x, 2, 1, acq, rel);
}

// Treiber's stack whose threads push a node and take one back, but leave it to the other if the other is already
// there. Whether it is, they ask by relaxed loads, and both may miss the other's answer: not robust. What they pop
// they acquire, so it is safe.
//
// expect rc11 robustness: violated

max_value 3;
const N = 2;
atomic top, next[N + 1], here[N];
na value[N + 1];

thread t[N] {
    local h, n, r, v, other;
    value[t + 1].nastore(t + 1);
    r = 3;
    h = 0;
    while (r != h) {
        h = top.load(rlx);
        next[t + 1].store(h, rlx);
        r = CAS(top, h, t + 1, rlx, rel);
    }
    here[t].store(1, rlx);
    other = here[1 - t].load(rlx);
    if (other == 0) {
        r = 3;
        while (r != h) {
            h = top.load(acq);
            assert(h != 0);
            n = next[h].load(rlx);
            r = CAS(top, h, n, acq, rlx);
        }
        v = value[h].naload();
        assert(v == h);
    }
}

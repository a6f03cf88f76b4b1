// The stack of treiber-polite.fp with nothing acquired: what is popped may be read before it was written.
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
            h = top.load(rlx);
            assert(h != 0);
            n = next[h].load(rlx);
            r = CAS(top, h, n, rlx, rlx);
        }
        v = value[h].naload();
        assert(v == h);
    }
}

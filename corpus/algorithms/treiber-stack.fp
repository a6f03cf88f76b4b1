// Treiber's stack, two threads push and pop.
//
// Nodes are cells of an array, handed over through `top` by CAS: release when a node is pushed, acquire when
// it is popped. Nodes are used once, so there is no ABA problem.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
const N = 2;
atomic top, next[N + 1];       // node 0 is nil
na value[N + 1];

thread t[N] {
    local h, n, r, v;
    // push my node
    value[t + 1].nastore(t + 1);
    r = 3;
    h = 0;
    while (r != h) {
        h = top.load(rlx);
        next[t + 1].store(h, rlx);
        r = CAS(top, h, t + 1, rlx, rel);
    }

    // pop any node
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

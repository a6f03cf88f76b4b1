// A stack that threads push to and pop from by CAS, which empties the buffer: four threads, two of each kind.
//
// expect tso robustness: holds
// expect pso robustness: holds
// expect pgas robustness: holds

max_value 3;
const N = 2;
global top, next[N + 1];

thread push[N] {
    local h, r;
    r = N + 1;
    while (r != h) {
        h = top.load(rlx);
        next[push + 1].store(h, rlx);
        r = CAS(top, h, push + 1, rlx, rlx);
    }
}

thread pop[N] {
    local h, n, r;
    r = N + 1;
    while (r != h) {
        h = top.load(rlx);
        assume(h != 0);
        n = next[h].load(rlx);
        r = CAS(top, h, n, rlx, rlx);
    }
}

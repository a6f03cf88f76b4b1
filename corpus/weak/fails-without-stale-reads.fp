// Not robust: `hare` and `tortoise` can miss each other's steps. But that both come to the end is no matter of weak memory: the
// assertion fails in an interleaving, which is far cheaper to find than an execution of the weak memory.
//
// expect rc11 robustness: violated
// expect sc assertions: violated

max_value 24;
atomic h, t, sum;
thread hare {
    local k, seen, total;
    while (k < 4) { k = k + 1; h.store(k, rlx); seen = t.load(rlx); total = sum.load(rlx); sum.store((total + seen) % 20, rlx); }
}
thread tortoise {
    local k, seen, total;
    while (k < 4) { k = k + 1; t.store(k, rlx); seen = h.load(rlx); total = sum.load(rlx); sum.store((total + seen) % 20, rlx); }
}
thread umpire {
    local r, s;
    r = h.load(rlx);
    s = t.load(rlx);
    assert(r + s < 8);
}

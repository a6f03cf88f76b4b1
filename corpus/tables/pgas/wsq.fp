// The work-stealing queue of Cilk-5 (the THE protocol): the owner pushes and pops at the tail, two thieves steal at the
// head under a lock. Where the owner and a thief look at each other's counter there is a full fence.
//
// expect tso robustness: holds
// expect pso robustness: holds
// expect pgas robustness: holds

max_value 3;
global head, tail, held, task[3];

thread owner {
    local h, t, v;
    task[0].store(1, rlx);
    fence(seq_cst);
    tail.store(1, rlx);
    fence(seq_cst);
    t = 0;
    tail.store(t, rlx);
    fence(seq_cst);
    h = head.load(rlx);
    if (h > t) {
        tail.store(t + 1, rlx);
        fence(seq_cst);
        BCAS(held, 0, 1, rlx, rlx);
        tail.store(t, rlx);
        fence(seq_cst);
        h = head.load(rlx);
        if (h > t) { tail.store(t + 1, rlx); }
        fence(seq_cst);
        held.store(0, rlx);
    }
    if (h <= t) { v = task[t].load(rlx); }
}

thread thief[2] {
    local h, t, v;
    BCAS(held, 0, 1, rlx, rlx);
    h = head.load(rlx);
    head.store(h + 1, rlx);
    fence(seq_cst);
    t = tail.load(rlx);
    if (h + 1 > t) {
        head.store(h, rlx);
    } else {
        v = task[h].load(rlx);
    }
    fence(seq_cst);
    held.store(0, rlx);
}

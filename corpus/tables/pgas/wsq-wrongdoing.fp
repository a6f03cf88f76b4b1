// The work-stealing queue of Cilk-5 (the THE protocol), taken apart: push, pop and two steals run in threads of their own,
// although push and pop belong to one owner, and a lock is released by a fifth. Nothing orders what the threads do.
//
// expect tso robustness: violated
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 3;
global head, tail, free, task[4];

thread release { free.store(1, rlx); }

thread push {
    local t;
    t = tail.load(rlx);
    task[t].store(1, rlx);
    tail.store(t + 1, rlx);
}

thread pop {
    local h, t, v;
    t = tail.load(rlx);
    assume(t > 0);
    t = t - 1;
    tail.store(t, rlx);
    h = head.load(rlx);
    if (h > t) {
        tail.store(t + 1, rlx);
        BCAS(free, 1, 0, rlx, rlx);
        h = head.load(rlx);
        if (h <= t) { tail.store(t, rlx); }
        free.store(1, rlx);
    }
    if (h <= t) { v = task[t].load(rlx); }
}

thread steal[2] {
    local h, t, v;
    BCAS(free, 1, 0, rlx, rlx);
    h = head.load(rlx);
    assume(h < 3);
    head.store(h + 1, rlx);
    t = tail.load(rlx);
    if (h + 1 > t) {
        head.store(h, rlx);
    } else {
        v = task[h].load(rlx);
    }
    free.store(1, rlx);
}

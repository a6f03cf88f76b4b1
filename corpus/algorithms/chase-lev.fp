// Chase and Lev's work-stealing deque, one thief.
//
// The owner pushes and pops at the bottom, the thief steals from the top; only for the last task they compete
// by CAS. The SC fence between the owner's store to `bottom` and its load of `top` is the heart of it. For
// robustness two more fences and a release store are needed that correctness alone does not require.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 7;
const TASKS = 3;
atomic top = 1, bottom = 1, task[4];

thread owner {
    local b, t, r, v, pushed;
    while (true) {
        oneof({
            // push
            assume(pushed < TASKS);          // a bound for the search
            b = bottom.load(rlx);
            fence(sc);
            t = top.load(acq);
            if (b < t + 2) {
                pushed = pushed + 1;
                task[b % 4].store(pushed, rlx);
                bottom.store(b + 1, rel);
            }
        }{
            // pop
            b = bottom.load(rlx);
            b = b - 1;
            bottom.store(b, rel);
            fence(sc);
            t = top.load(rlx);
            if (b < t) {
                bottom.store(t, rlx);               // empty
            } else {
                v = task[b % 4].load(rlx);
                if (b == t) {
                    r = CAS(top, t, t + 1, acq, rel);   // last task: race with the thief
                    bottom.store(t + 1, rlx);
                }
            }
        });
    }
}

thread thief {
    local b, t, r, v;
    while (true) {
        fence(sc);
        t = top.load(rlx);
        fence(sc);
        b = bottom.load(acq);
        if (t < b) {
            v = task[t % 4].load(rlx);
            BCAS(top, t, t + 1, rlx, rel);
            assert(v != 0);
        }
    }
}

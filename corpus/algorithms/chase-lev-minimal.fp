// Chase and Lev's work-stealing deque with the published fences only.
//
// Correct as published, but not robust: for instance the owner may push believing that nothing was stolen yet.
// A case where robustness asks for more than correctness needs.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

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
            bottom.store(b, rlx);
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

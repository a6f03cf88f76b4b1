// Chase and Lev's work-stealing deque, an owner and two thieves, relaxed.
//
// Indices only; the tasks themselves are left out. Robustness needs the store of `bottom` in pop to be a
// release, an SC fence in push and one before each steal. LAST bounds the number of tasks ever pushed.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 9;
const CAPACITY = 2;
const LAST = 6;
atomic top = 1, bottom = 1;

thread owner {
    local b, t;
    while (true) {
        oneof({
            // push
            b = bottom.load(rlx);
            fence(sc);
            t = top.load(acq);
            assume(b < LAST);
            if (b < t + CAPACITY) {
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
                bottom.store(t, rlx);                 // empty
            } else if (b == t) {
                CAS(top, t, t + 1, acq, rel);          // the last task: compete with the thieves
                bottom.store(t + 1, rlx);
            }
        });
    }
}

thread thief[2] {
    local b, t;
    while (true) {
        fence(sc);
        t = top.load(rlx);
        fence(sc);
        b = bottom.load(rlx);
        if (t < b) {
            fence(acq);
            BCAS(top, t, t + 1, rlx, rel);
        }
    }
}

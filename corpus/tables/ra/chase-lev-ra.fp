// Chase and Lev's work-stealing deque with release and acquire throughout.
//
// The deque of tables/rc20/chase-lev with every access strengthened; the same SC fences are needed.
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
            b = bottom.load(acq);
            fence(sc);
            t = top.load(acq);
            assume(b < LAST);
            if (b < t + CAPACITY) {
                bottom.store(b + 1, rel);
            }
        }{
            // pop
            b = bottom.load(acq);
            b = b - 1;
            bottom.store(b, rel);
            fence(sc);
            t = top.load(acq);
            if (b < t) {
                bottom.store(t, rel);                 // empty
            } else if (b == t) {
                CAS(top, t, t + 1, acq, rel);          // the last task: compete with the thieves
                bottom.store(t + 1, rel);
            }
        });
    }
}

thread thief[2] {
    local b, t;
    while (true) {
        fence(sc);
        t = top.load(acq);
        fence(sc);
        b = bottom.load(acq);
        if (t < b) {
            BCAS(top, t, t + 1, acq, rel);
        }
    }
}

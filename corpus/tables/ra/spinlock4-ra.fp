// Spin lock by counting contenders, four threads, release and acquire.
//
// As tables/rc20/spinlock4-rlx; the protected data is atomic here.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 10;
atomic l, cs;

thread t[4] {
    local r;
    while (true) {
        r = FADD(l, 1, acq, rel);
        if (r == 0) {
            cs.store(t, rel);
            r = cs.load(acq);
            assert(r == t);
            l.store(0, rel);
        } else {
            wait(l, 0, acq);
        }
    }
}

// Three equal threads count with relaxed increments.
//
// A counter needs no ordering, only atomicity: every increment reads the one before it. The thread that counts
// last finds the full number. The replicas are interchangeable.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic count;

thread t[3] {
    local old, now;
    old = FADD(count, 1, rlx, rlx);
    if (old == 2) {
        now = count.load(rlx);
        assert(now == 3);
    }
}

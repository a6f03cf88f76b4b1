// Two compare-and-swaps, one winner.
//
// Both threads try to move x from 0 to their own number. An RMW reads the write just before it in the order of
// x, so even relaxed at most one succeeds; the loser learns who won.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, winners;

thread t[2] {
    local r, w;
    r = CAS(x, 0, t + 1, rlx, rlx);
    if (r == 0) {
        w = FADD(winners, 1, rlx, rlx);
        assert(w == 0);
    } else {
        assert(r == 2 - t);
    }
}

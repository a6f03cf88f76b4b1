// Coherence: two readers agree on the order of two writers.
//
// The writers are unordered, but the order in which their stores hit x is one for all: two readers may not see
// 1 then 2 and 2 then 1. (The loads are used, or nothing would be claimed observationally.)
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x;

thread one { x.store(1, rlx); }
thread two { x.store(2, rlx); }

thread reader[2] {
    local a, b;
    a = x.load(rlx);
    b = x.load(rlx);
    verify(a + b);
}

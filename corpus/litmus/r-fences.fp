// R with SC fences.
//
// Fences in both threads: if the right thread's fence is second, it knows x; if it is first, its y.store
// precedes the left thread's.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, y;

thread left {
    x.store(1, rlx);
    fence(sc);
    y.store(1, rlx);
}

thread right {
    local a;
    y.store(2, rlx);
    fence(sc);
    a = x.load(rlx);
    verify(a);
}

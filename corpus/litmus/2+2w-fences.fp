// Two threads write two locations in opposite order, with SC fences.
//
// The thread whose fence is second knows the other's first store, so its second store comes after it.
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
    y.store(2, rlx);
}

thread right {
    y.store(1, rlx);
    fence(sc);
    x.store(2, rlx);
}

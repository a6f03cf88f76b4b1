// Two threads write two locations in opposite order, released.
//
// Release stores order nothing for a thread that never acquires: the final state x == 1 and y == 1 stays
// possible under RC20 and RA. On PSO hardware a release store is preceded by a store-store barrier, which is
// enough.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, y;

thread left {
    x.store(1, rel);
    y.store(2, rel);
}

thread right {
    y.store(1, rel);
    x.store(2, rel);
}

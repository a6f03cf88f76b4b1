// Store buffering with a blocking compare-and-swap.
//
// BCAS(y, 0, 1) may take the initial 0 although the other thread's store is under way, and be ordered before
// it. Locked instructions on TSO and PSO write out the store first, and only one thread passes.
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
    BCAS(y, 0, 2, acq, rel);
}

thread right {
    y.store(1, rel);
    BCAS(x, 0, 2, acq, rel);
}

// Store buffering where each thread waits for the other's absence.
//
// wait(y, 0) may read the stale 0. It is a read whose value counts as used even though nothing is assigned:
// under SC at most one of the two threads gets past its wait, under weak memory both may.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y;

thread left {
    x.store(1, rel);
    wait(y, 0, acq);
}

thread right {
    y.store(1, rel);
    wait(x, 0, acq);
}

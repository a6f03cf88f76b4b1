// R: a store racing with a store, then a load.
//
// Half store buffering, half 2+2W: y == 2 at the end says that the right thread's store came last, and yet it
// may read x == 0. It takes the reordering of a store with a later load, so TSO and PSO show it.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
atomic x, y;

thread left {
    x.store(1, rel);
    y.store(1, rel);
}

thread right {
    local a;
    y.store(2, rel);
    a = x.load(acq);
    verify(a);
}

// Store buffering with a fence in one thread only.
//
// A fence orders its own thread. The right thread has none, so its store may still come after its load: both
// read 0. A fence works in pairs.
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
    local a;
    x.store(1, rel);
    fence(sc);
    a = y.load(acq);
    verify(a);
}

thread right {
    local a;
    y.store(1, rel);
    a = x.load(acq);
    verify(a);
}

// Store buffering with release stores and acquire loads.
//
// Release and acquire order what comes before a store and after a load. Here the store comes first and the
// load second, the one order they leave open: stronger modes do not help, only a fence between the two does.
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
    a = y.load(acq);
    verify(a);
}

thread right {
    local a;
    y.store(1, rel);
    a = x.load(acq);
    verify(a);
}

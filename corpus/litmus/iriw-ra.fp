// Independent reads of independent writes, release and acquire.
//
// Acquire keeps each reader's two loads in order, yet the readers may still disagree: no happens-before
// relates the two writers, so nothing says whose write is first.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread write_x {
    x.store(1, rel);
}

thread write_y {
    y.store(1, rel);
}

thread read_xy {
    local a, b;
    a = x.load(acq);
    b = y.load(acq);
    verify(a + b);
}

thread read_yx {
    local a, b;
    a = y.load(acq);
    b = x.load(acq);
    verify(a + b);
}

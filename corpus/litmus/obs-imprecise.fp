// A dropped load that a sound check may still report.
//
// By definition this program is observationally robust: its only cycle runs through the load, whose value is
// dropped. The check must judge the left thread's store of y before it knows that, and reports it. It errs on
// the safe side only, so no expectation is given for observational robustness.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect ra robustness: violated
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
}

// Two threads write two locations in opposite order, relaxed.
//
// Both first stores may end up last: x == 1 and y == 1 at the end, which no interleaving gives. There is not a
// single load, so no observation can excuse it: observational robustness is violated as well. TSO keeps stores
// in order, PSO does not.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: violated

max_value 2;
atomic x, y;

thread left {
    x.store(1, rlx);
    y.store(2, rlx);
}

thread right {
    y.store(1, rlx);
    x.store(2, rlx);
}

// Two threads, two stores each in opposite orders, all `seq_cst`: modification orders agree with one order of all.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 2;
atomic x, y;

thread left {
    x.store(1, sc);
    y.store(2, sc);
}

thread right {
    y.store(1, sc);
    x.store(2, sc);
}

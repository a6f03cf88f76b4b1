// A wait that may be satisfied by a value long gone.
//
// The reader has seen y == 1, after x went from 1 to 2. Its relaxed wait for 1 can still read the intermediate
// value; under SC it would block forever.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 2;
atomic x, y;

thread writer {
    x.store(1, rlx);
    x.store(2, rlx);
    y.store(1, rlx);
}

thread reader {
    wait(y, 1, rlx);
    wait(x, 1, rlx);
}

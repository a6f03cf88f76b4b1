// A violation that needs two delayed stores: where singularity would be wrong.
//
// `left` delays x. The lightweight fence lets it go on, but from there on every store has to stay behind
// x, so y is delayed too when `left` loads z. `right` then writes z and still reads the old x: store
// buffering on x and z. With y at once in memory (which is what delaying a single store means) nobody
// gets past the fence, and the program would seem robust. `far` only makes y shared,
// and the full fence keeps `right` from delaying z instead.
//
// Without the fence, delaying x alone is enough, and singularity is complete.
//
// expect sc assertions: holds
// expect tso robustness: violated
// expect pso robustness: violated
// expect pgas robustness: violated

global x, y, z;

thread left {
    local r;
    x.store(1);
    fence(x);
    y.store(1);
    r = z.load();
}

thread right {
    local r;
    z.store(1);
    fence(seq_cst);
    r = x.load();
}

thread far {
    local r;
    r = y.load();
}

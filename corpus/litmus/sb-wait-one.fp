// Store buffering where each thread waits for the other.
//
// wait(y, 1) reads only 1, so the stale 0 is never observed. The blocking read masks the weak behaviour that a
// load in a spin loop would show (see sb-spin).
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    x.store(1, rlx);
    wait(y, 1, rlx);
}

thread right {
    y.store(1, rlx);
    wait(x, 1, rlx);
}

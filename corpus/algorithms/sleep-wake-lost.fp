// A lost wake-up.
//
// The consumer announces that it will sleep and checks for work; the producer adds work and checks for
// sleepers. If both checks come too early the consumer sleeps forever. The assertion does not show that;
// robustness does.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic work, sleeping, wake;

thread consumer {
    local w;
    sleeping.store(1, rlx);
    w = work.load(rlx);
    if (w == 0) {
        // nothing to do: sleep until woken
        wait(wake, 1, acq);
    }
    w = work.load(rlx);
    assert(w == 1);
}

thread producer {
    local s;
    work.store(1, rlx);
    s = sleeping.load(rlx);
    if (s == 1) {
        wake.store(1, rel);
    }
}

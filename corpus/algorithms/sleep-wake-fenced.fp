// Sleep and wake-up with SC fences.
//
// With a fence between announcement and check on both sides, one of them sees the other: either the consumer
// finds the work or the producer finds the sleeper.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic work, sleeping, wake;

thread consumer {
    local w;
    sleeping.store(1, rlx);
    fence(sc);
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
    fence(sc);
    s = sleeping.load(rlx);
    if (s == 1) {
        wake.store(1, rel);
    }
}

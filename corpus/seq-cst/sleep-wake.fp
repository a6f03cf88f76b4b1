// Sleep and wake-up: the consumer announces that it sleeps and then looks for work, the producer leaves work and then
// looks for a sleeper. With `seq_cst` accesses one of them sees the other.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 1;
atomic work, sleeping, wake;

thread consumer {
    local w;
    sleeping.store(1, sc);
    w = work.load(sc);
    if (w == 0) {
        wait(wake, 1, acq);
    }
    w = work.load(sc);
    assert(w == 1);
}

thread producer {
    local s;
    work.store(1, sc);
    s = sleeping.load(sc);
    if (s == 1) {
        wake.store(1, rel);
    }
}

// A thread waits for a value that may be overwritten before it looks: it goes round for ever, although it sees the
// newest write. `--liveness` reports it.
//
// expect sc assertions: holds

max_value 2;
atomic phase;

thread leader {
    phase.store(1, rel);
    phase.store(2, rel);
}

thread follower {
    local p;
    while (p != 1) {
        p = phase.load(acq);
    }
}

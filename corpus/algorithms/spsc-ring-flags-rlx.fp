// Ring buffer whose producer publishes slots relaxed.
//
// The flag is up before the message is known to be there: the consumer's read of the slot races with the
// producer's write.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 4;
const SLOTS = 2;
const MESSAGES = 3;
atomic full[SLOTS];
na slot[SLOTS];

thread producer {
    local m;
    while (m < MESSAGES) {
        wait(full[m % SLOTS], 0, acq);
        slot[m % SLOTS].nastore(m + 1);
        full[m % SLOTS].store(1, rlx);
        m = m + 1;
    }
}

thread consumer {
    local m, v;
    while (m < MESSAGES) {
        wait(full[m % SLOTS], 1, acq);
        v = slot[m % SLOTS].naload();
        assert(v == m + 1);
        full[m % SLOTS].store(0, rel);
        m = m + 1;
    }
}

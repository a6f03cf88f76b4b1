// Ring buffer for one producer and one consumer, a flag per slot.
//
// Each slot says whether it is full. Producer and consumer meet in the slots only, each hand-over a release-
// acquire pair in one direction or the other: robust without any fence.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

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
        full[m % SLOTS].store(1, rel);
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

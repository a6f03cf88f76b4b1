// A slot of an array published by its index.
//
// The writer fills a slot of its choice and publishes the number of the slot; the reader's address is computed
// from what it acquired. The slot is non-atomic, and there is no race.
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
const SLOTS = 3;
atomic published;
na slot[SLOTS];

thread writer {
    local i;
    i = oneof(0, 1, 2);
    slot[i].nastore(i + 1);
    published.store(i + 1, rel);
}

thread reader {
    local p, v;
    p = published.load(acq);
    if (p != 0) {
        v = slot[p - 1].naload();
        assert(v == p);
    }
}

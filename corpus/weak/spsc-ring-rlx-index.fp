// The ring buffer of algorithms/spsc-ring.fp with one order too weak: the producer publishes its index relaxed. The
// consumer may see the index and not what was written to the slot before it: a race that no order forbids.
//
// expect rc11 robustness: violated
// expect rc11 races: violated

max_value 4;
const SIZE = 2;
const MESSAGES = 3;
atomic head, tail;
na slot[SIZE + 1];

thread producer {
    local m, h, n, t;
    while (m < MESSAGES) {
        h = head.load(rlx);
        n = (h + 1) % (SIZE + 1);
        t = tail.load(acq);
        if (n != t) {
            slot[h].nastore(m + 1);
            head.store(n, rlx);
            m = m + 1;
        }
    }
}

thread consumer {
    local m, h, t, v;
    while (m < MESSAGES) {
        t = tail.load(rlx);
        h = head.load(acq);
        if (h != t) {
            v = slot[t].naload();
            assert(v == m + 1);
            tail.store((t + 1) % (SIZE + 1), rel);
            m = m + 1;
        }
    }
}

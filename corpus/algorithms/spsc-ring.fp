// Ring buffer for one producer and one consumer, head and tail.
//
// Correct and free of races, yet not robust: each side stores its own index and then looks at the other's, and
// may see it late. All it does with a late index is to believe the ring fuller (or emptier) than it is;
// robustness is a sufficient criterion, and this is what it costs.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

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
            head.store(n, rel);
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

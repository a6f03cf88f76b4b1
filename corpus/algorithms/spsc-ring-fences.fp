// Ring buffer for one producer and one consumer, with SC fences.
//
// The same with a fence before looking at the other side's index. Robust now; the fences buy nothing but the
// simplicity of the argument.
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
const SIZE = 2;
const MESSAGES = 3;
atomic head, tail;
na slot[SIZE + 1];

thread producer {
    local m, h, n, t;
    while (m < MESSAGES) {
        h = head.load(rlx);
        n = (h + 1) % (SIZE + 1);
        fence(sc);
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
        fence(sc);
        h = head.load(acq);
        if (h != t) {
            v = slot[t].naload();
            assert(v == m + 1);
            tail.store((t + 1) % (SIZE + 1), rel);
            m = m + 1;
        }
    }
}

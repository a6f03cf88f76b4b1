// Wait-free ring buffer, one push against any number of pops.
//
// Each side loads its own index relaxed and the other's with acquire. With one push this is robust; with
// repeated ones it would not be (see spsc-ring), for each side then also stores before it looks.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 5;
const SIZE = 5;
atomic head, tail;
na slot[SIZE];

thread producer {
    local h, n, t;
    h = head.load(rlx);
    n = (h + 1) % SIZE;
    t = tail.load(acq);
    if (n != t) {
        slot[h].nastore(5);
        head.store(n, rel);
    }
}

thread consumer {
    local h, t, v;
    while (true) {
        t = tail.load(rlx);
        h = head.load(acq);
        if (t != h) {
            v = slot[t].naload();
            assert(v == 5);
            tail.store((t + 1) % SIZE, rel);
        }
    }
}

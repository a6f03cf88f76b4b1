// Treiber's stack with a relaxed push.
//
// The node is linked in before its contents are published: the popper reads the value, and the next pointer,
// of a node it knows nothing about.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
const N = 2;
atomic top, next[N + 1];
na value[N + 1];

thread pusher {
    local h, r, i;
    i = 1;
    while (i <= N) {
        value[i].nastore(i);
        h = top.load(rlx);
        next[i].store(h, rlx);
        r = CAS(top, h, i, rlx, rlx);
        if (r == h) {
            i = i + 1;
        }
    }
}

thread popper {
    local h, n, r, v;
    h = top.load(acq);
    if (h != 0) {
        n = next[h].load(rlx);
        r = CAS(top, h, n, acq, rlx);
        if (r == h) {
            v = value[h].naload();
            assert(v == h);
        }
    }
}

// Hazard pointer with SC fences.
//
// The reader announces the node it is about to use and checks that it is still there; the reclaimer unlinks a
// node and checks that nobody announced it. One of the two must see the other: store buffering, hence the
// fences.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic pointer, hazard = 2;    // 2: no hazard
na node[2] = 1;

thread reader {
    local p, q, v;
    p = pointer.load(acq);
    hazard.store(p, rel);
    fence(sc);
    q = pointer.load(acq);
    if (p == q) {
        v = node[p].naload();
        assert(v == 1);
    }
    hazard.store(2, rel);
}

thread reclaimer {
    local old, h;
    old = exchange(pointer, 1, acq, rel);
    fence(sc);
    h = hazard.load(acq);
    if (h != old) {
        node[old].nastore(0);
    }
}

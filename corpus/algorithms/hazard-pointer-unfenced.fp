// Hazard pointer without fences.
//
// Neither sees the other, and the node is reclaimed in its user's hands. The reclaimer's exchange would be a
// fence on x86, the reader's store is not, there or elsewhere.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
atomic pointer, hazard = 2;    // 2: no hazard
na node[2] = 1;

thread reader {
    local p, q, v;
    p = pointer.load(acq);
    hazard.store(p, rel);
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
    h = hazard.load(acq);
    if (h != old) {
        node[old].nastore(0);
    }
}

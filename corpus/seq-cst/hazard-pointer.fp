// Hazard pointer with `seq_cst` accesses instead of fences.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated
// expect rc11 races: holds

max_value 2;
atomic pointer, hazard = 2;    // 2: no hazard
na node[2] = 1;

thread reader {
    local p, q, v;
    p = pointer.load(sc);
    hazard.store(p, sc);
    q = pointer.load(sc);
    if (p == q) {
        v = node[p].naload();
        assert(v == 1);
    }
    hazard.store(2, sc);
}

thread reclaimer {
    local old, h;
    old = exchange(pointer, 1, sc, sc);
    h = hazard.load(sc);
    if (h != old) {
        node[old].nastore(0);
    }
}

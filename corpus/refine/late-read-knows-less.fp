// `get` races with `put` on n if it reads f by the relaxed load: it has not learnt then that `put` has read n. All else that it
// learns from f it knows from h, so only what it knows of non-atomic accesses tells the two loads of f apart.
max_value 1;

spec cell {
    atomic g;
    method put() { return(); }
    method get() { return(); }
}

library cell {
    na n;
    atomic f, h;

    method put() {
        local k;
        k = h.load(rlx);
        if (k == 0) {
            n.nastore(0);
            h.store(1, rel);
            k = n.naload();
            f.store(1, rel);
        }
        return();
    }

    method get() {
        local r;
        r = h.load(acq);
        if (r == 1) {
            oneof({ r = f.load(acq); } { r = f.load(rlx); });
            if (r == 1) {
                n.nastore(1);
            }
        }
        return();
    }
}

client { policy thread_per_method; }

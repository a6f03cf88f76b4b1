// Read-copy-update with phase bits, but the reader's fence is missing: it may look at the data before
// the writer can see that it is inside.
library rcu {
    atomic phase, rcs[1], rphase[1];

    method read_lock(me) {
        local a;
        a = phase.load(acq);
        rphase[me].store(a, rel);
        rcs[me].store(1, rel);
        return();
    }

    method read_unlock(me) {
        rcs[me].store(0, rel);
        return();
    }

    method synchronize() {
        local a, b, r;
        fence(upd);
        phase.store(1, rel);
        r = 0;
        FIRST:
        a = rcs[r].load(acq);
        b = rphase[r].load(acq);
        if (a != 0 && b != 1) goto FIRST;
        if (r < 0) { r = r + 1; goto FIRST; }
        phase.store(0, rel);
        r = 0;
        SECOND:
        a = rcs[r].load(acq);
        b = rphase[r].load(acq);
        if (a != 0 && b != 0) goto SECOND;
        if (r < 0) { r = r + 1; goto SECOND; }
        return();
    }
}

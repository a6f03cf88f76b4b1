// Read-copy-update with phase bits, 3 readers (Desnoyers et al. 2012, as Singh and Lahav give it).
// A fence is an update of a location of the library's own.
library rcu {
    atomic phase, rcs[3], rphase[3];

    method read_lock(me) {
        local a;
        a = phase.load(acq);
        rphase[me].store(a, rel);
        rcs[me].store(1, rel);
        fence(upd);
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
        if (r < 2) { r = r + 1; goto FIRST; }
        phase.store(0, rel);
        r = 0;
        SECOND:
        a = rcs[r].load(acq);
        b = rphase[r].load(acq);
        if (a != 0 && b != 0) goto SECOND;
        if (r < 2) { r = r + 1; goto SECOND; }
        return();
    }
}

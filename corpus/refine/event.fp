// Waiting for an event. The specification takes a lock to look, and writes something else under it, over and over.
max_value 1;

spec event {
    atomic l, happened, tries;

    method await() {
        local seen;
        AGAIN:
        acquire(l);
        seen = happened.load(rlx);
        tries.store(1 - seen, rlx);
        release(l);
        if (seen == 0) goto AGAIN;
        return();
    }

    method happen() { acquire(l); happened.store(1, rlx); release(l); return(); }
}

library event {
    atomic happened;

    method await() {
        local seen;
        while (seen == 0) { seen = FADD(happened, 0, acq, rel); }
        return();
    }

    method happen() { exchange(happened, 1, acq, rel); return(); }
}

client { thread a { await(); } thread b { happen(); await(); } }

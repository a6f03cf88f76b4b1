// A test-and-set lock whose release is relaxed: the next holder does not see what the last one did.
max_value 3;

spec lock {
    atomic l;
    method lock(me)   { acquire(l); return(); }
    method unlock(me) { release(l); return(); }
}

library lock {
    atomic taken;

    method lock(me) {
        local old;
        AGAIN:
        old = exchange(taken, 1, acq, rlx);
        if (old != 0) goto AGAIN;
        return();
    }

    method unlock(me) { taken.store(0, rlx); return(); }
}

client {
    thread t[2] { while (1) { lock(t); unlock(t); } }
}

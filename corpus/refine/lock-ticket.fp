// A ticket lock: wait until your number is served.
max_value 3;

spec lock {
    atomic l;
    method lock(me)   { acquire(l); return(); }
    method unlock(me) { release(l); return(); }
}

library lock {
    atomic next, serving;

    method lock(me) {
        local mine;
        mine = FADD(next, 1, rlx, rlx);
        wait(serving, mine, acq);
        return();
    }

    method unlock(me) {
        local now;
        now = serving.load(rlx);
        serving.store(now + 1, rel);
        return();
    }
}

client {
    thread t[2] { while (1) { lock(t); unlock(t); } }
}

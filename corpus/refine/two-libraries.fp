// Two libraries used together: each is checked with the other's specification (Corollary 7.4).
max_value 1;

spec lock {
    atomic l;
    method lock()   { acquire(l); return(); }
    method unlock() { release(l); return(); }
}

library lock {
    atomic taken;
    method lock() {
        local old;
        AGAIN:
        old = exchange(taken, 1, acq, rlx);
        if (old != 0) goto AGAIN;
        return();
    }
    method unlock() { taken.store(0, rel); return(); }
}

spec cell {
    atomic c;
    method put(v) { c.store(v, rel); return(); }
    method get()  { local a; a = c.load(acq); return(a); }
}

library cell {
    na c;
    method put(v) { c.nastore(v); return(); }
    method get()  { local a; a = c.naload(); return(a); }
}

// The cell is used under the lock only, so it may be a plain variable.
client {
    thread t[2] {
        while (1) {
            lock();
            oneof ({ put(0); } { put(1); } { get(); });
            unlock();
        }
    }
}

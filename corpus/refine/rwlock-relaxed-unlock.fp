// A reader leaves with a relaxed update: the next writer does not know what the reader has done.
max_value 3;

spec rwlock {
    atomic l, readers, writer;
    method read_lock() {
        local w, r;
        AGAIN:
        acquire(l);
        w = writer.load(rlx);
        if (w != 0) { release(l); goto AGAIN; }
        r = readers.load(rlx);
        readers.store(r + 1, rlx);
        release(l);
        return();
    }
    method read_unlock() {
        local r;
        acquire(l);
        r = readers.load(rlx);
        readers.store(r - 1, rlx);
        release(l);
        return();
    }
    method write_lock() {
        local w, r;
        AGAIN:
        acquire(l);
        w = writer.load(rlx);
        r = readers.load(rlx);
        if (w + r != 0) { release(l); goto AGAIN; }
        writer.store(1, rlx);
        release(l);
        return();
    }
    method write_unlock() {
        acquire(l);
        writer.store(0, rlx);
        release(l);
        return();
    }
}

library rwlock {
    atomic state;   // 3: a writer; otherwise, how many readers
    method read_lock() {
        local s, seen;
        AGAIN:
        s = state.load(rlx);
        if (s == 3) goto AGAIN;
        seen = CAS(state, s, s + 1, acq, rel, rlx);
        if (seen != s) goto AGAIN;
        return();
    }
    method read_unlock() { FADD(state, -1, acq, rlx); return(); }
    method write_lock() { BCAS(state, 0, 3, acq, rel); return(); }
    method write_unlock() { state.store(0, rel); return(); }
}

client {
    thread r { while (1) { read_lock(); read_unlock(); } }
    thread w { while (1) { write_lock(); write_unlock(); } }
}

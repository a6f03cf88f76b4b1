// A ring of two slots between one producer and one consumer against a queue with a lock around it.
//
// Both wait until there is room, or something to get. Ends are counted modulo four, so that full and empty differ.
max_value 7;

spec ring {
    atomic l, head, tail, q[2];
    method put(v) {
        local h, t;
        AGAIN:
        acquire(l);
        h = head.load(rlx);
        t = tail.load(rlx);
        if ((t + 4 - h) % 4 == 2) { release(l); goto AGAIN; }
        q[t % 2].store(v, rlx);
        tail.store((t + 1) % 4, rlx);
        release(l);
        return();
    }
    method get() {
        local h, t, v;
        AGAIN:
        acquire(l);
        h = head.load(rlx);
        t = tail.load(rlx);
        if (t == h) { release(l); goto AGAIN; }
        v = q[h % 2].load(rlx);
        head.store((h + 1) % 4, rlx);
        release(l);
        return(v);
    }
}

library ring {
    atomic head, tail;
    na q[2];
    method put(v) {
        local h, t;
        t = tail.load(rlx);
        AGAIN:
        h = head.load(acq);
        if ((t + 4 - h) % 4 == 2) { goto AGAIN; }
        q[t % 2].nastore(v);
        tail.store((t + 1) % 4, rel);
        return();
    }
    method get() {
        local h, t, v;
        h = head.load(rlx);
        AGAIN:
        t = tail.load(acq);
        if (t == h) { goto AGAIN; }
        v = q[h % 2].naload();
        head.store((h + 1) % 4, rel);
        return(v);
    }
}

client {
    thread producer { while (1) { oneof({ put(1); } { put(2); }); } }
    thread consumer { while (1) { get(); } }
}

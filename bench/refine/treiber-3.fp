// Treiber's stack against a stack with a lock around it: three threads, each of which pushes its node and pops any.
//
// Nodes are numbered from 1 and used once. `pop` returns 0 if there is none.
max_value 3;

spec stack {
    atomic l, top, next[4];
    method push(n) {
        local h;
        acquire(l);
        h = top.load(rlx);
        next[n].store(h, rlx);
        top.store(n, rlx);
        release(l);
        return();
    }
    method pop() {
        local h, n;
        acquire(l);
        h = top.load(rlx);
        if (h == 0) { release(l); return(0); }
        n = next[h].load(rlx);
        top.store(n, rlx);
        release(l);
        return(h);
    }
}

library stack {
    atomic top, next[4];
    method push(n) {
        local h, r;
        AGAIN:
        h = top.load(rlx);
        next[n].store(h, rlx);
        r = CAS(top, h, n, acq, rel, rlx);
        if (r != h) goto AGAIN;
        return();
    }
    method pop() {
        local h, n, r;
        AGAIN:
        h = top.load(acq);
        if (h == 0) goto AGAIN;
        n = next[h].load(rlx);
        r = CAS(top, h, n, acq, rel, rlx);
        if (r != h) goto AGAIN;
        return(h);
    }
}

client {
    thread a { push(1); pop(); }
    thread b { push(2); pop(); }
    thread c { push(3); pop(); }
}

// The relaxed queue, but an enqueue does not wait for the previous cell to be filled.
max_value 3;

// 0 stands for an empty cell.
spec queue {
    atomic q[3], head, tail, lh, lt;

    method enqueue(v) {
        local t;
        pacquire(lt);
        t = tail.load(rlx);
        q[t].store(v, rlx);
        tail.store(t + 1, rlx);
        prelease(lt);
        return();
    }

    method dequeue() {
        local h, v;
        pacquire(lh);
        h = head.load(rlx);
        v = q[h].load(rlx);
        if (v != 0) { head.store(h + 1, rlx); }
        prelease(lh);
        return(v);
    }
}

library queue {
    atomic q[3], head, tail;

    method enqueue(v) {
        local t, c, u;
        BEGIN:
        t = tail.load(rlx);
        u = CAS(tail, t, t + 1, rlx, rlx, rlx);
        if (u != t) goto BEGIN;
        q[t].store(v, rlx);
        return();
    }

    method dequeue() {
        local h, v, u;
        BEGIN:
        h = head.load(rlx);
        v = q[h].load(rlx);
        if (v == 0) { return(0); }
        u = CAS(head, h, h + 1, rlx, rlx, rlx);
        if (u != h) goto BEGIN;
        return(v);
    }
}

// Two elements fit the array; only one thread dequeues.
client {
    thread a { enqueue(1); }
    thread b { enqueue(2); dequeue(); dequeue(); }
}

// The relaxed queue called by threads that both enqueue and dequeue. The paper has it refine its
// specification under every client (Theorem A.17), but the lock that dequeues share publishes what a
// dequeuing thread has enqueued itself, and relaxed accesses do not: `a` can find the queue empty after
// `b` has taken the first of two elements, although `b` enqueued the second.
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
        if (t != 0) {
            c = q[t - 1].load(rlx);
            if (c == 0) goto BEGIN;
        }
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

client {
    thread a { enqueue(1); dequeue(); }
    thread b { enqueue(2); dequeue(); }
}

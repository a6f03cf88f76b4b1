// The reader of the paper (section 8.1): inside one critical section it must not see the second store
// without the first, because the writer waits for it in between.
client {
    atomic x, y;
    thread writer { x.store(1, rlx); synchronize(); y.store(1, rlx); }
    thread reader {
        local a, b;
        read_lock(0);
        a = x.load(rlx);
        b = y.load(rlx);
        read_unlock(0);
        assert(a == 1 || b == 0);
    }
}

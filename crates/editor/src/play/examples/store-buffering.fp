// Two threads announce themselves, then look for each other.
// Both may read 0: put  fence(seq_cst);  after each store.
atomic x, y;

thread left {
    local a;
    x.store(1, rlx);
    a = y.load(rlx);
}

thread right {
    local b;
    y.store(1, rlx);
    b = x.load(rlx);
}

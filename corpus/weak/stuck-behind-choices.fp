// Both threads may choose to wait for what nobody writes. That one of them does is seen on the weak memory, too, where each
// has come to its own choice.
//
// expect rc11 robustness: violated

atomic b, q = 4, f;

thread t {
    b.store(0, rlx);
    oneof({ skip; } { wait(q, 0, rlx); });
    f.store(0, rlx);
}

thread u {
    local r;
    r = CAS(f, 1, r, sc, rlx);
    b.store(0, rlx);
    oneof({ skip; } { wait(q, 1, rlx); });
    f.store(1, rlx);
}

// Peterson's lock. On x86 a store may wait in its buffer while the
// load after it goes ahead: a fence between the two is missing.
atomic want0, want1, turn;
na inside;

thread zero {
    local other, t;
    want0.store(1, rlx);
    turn.store(1, rlx);
    do {
        other = want1.load(rlx);
        t = turn.load(rlx);
    } while (other == 1 && t == 1);
    inside.nastore(1);
    want0.store(0, rlx);
}

thread one {
    local other, t;
    want1.store(1, rlx);
    turn.store(0, rlx);
    do {
        other = want0.load(rlx);
        t = turn.load(rlx);
    } while (other == 1 && t == 0);
    inside.nastore(2);
    want1.store(0, rlx);
}

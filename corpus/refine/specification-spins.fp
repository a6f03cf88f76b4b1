// The specification writes and runs for ever, the library writes and waits for what never comes: the same histories.
max_value 2;

spec cell {
    atomic y;
    method hang() { y.store(1, rlx); while (1) { } return(); }
    method take() { local r; r = y.load(rlx); y.store(2, rlx); return(r); }
}

library cell {
    atomic y;
    method hang() { y.store(1, rlx); wait(y, 0, rlx); return(); }
    method take() { local r; r = y.load(rlx); y.store(2, rlx); return(r); }
}

client { thread a { hang(); } thread b { take(); } }

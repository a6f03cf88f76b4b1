// A method that writes and then runs for ever: what it has written is read by others, so the library differs. A loop
// without a load is no busy wait that could be left out together with the step before it.
max_value 2;

spec cell {
    atomic y;
    method hang() { while (1) { } return(); }
    method take() { local r; r = y.load(rlx); y.store(2, rlx); return(r); }
}

library cell {
    atomic y;
    method hang() { y.store(1, rlx); while (1) { } return(); }
    method take() { local r; r = y.load(rlx); y.store(2, rlx); return(r); }
}

client { policy thread_per_method; }

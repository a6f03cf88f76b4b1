// A load, a store of a variable that nobody else writes, and a loop for ever: the store counts although the load alone
// would not.
max_value 2;

spec cell {
    atomic x, y;
    method hang() { while (1) { } return(); }
    method look() { local r; r = y.load(rlx); return(r); }
}

library cell {
    atomic x, y;
    method hang() { local r; r = x.load(rlx); y.store(1, rlx); while (1) { } return(); }
    method look() { local r; r = y.load(rlx); return(r); }
}

client { policy thread_per_method; }

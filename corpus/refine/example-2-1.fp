// Example 2.1 of Singh and Lahav: calls and returns are the same, but clients can tell the difference.
max_value 1;

spec once {
    atomic x;
    method foo() { x.store(1, rel); return(); }
    method bar() { local a; a = x.load(acq); return(a); }
}

library once {
    method foo() { return(); }
    method bar() { local a; a = oneof(0, 1); return(a); }
}

// foo and bar are called once, bar after foo has returned; but the client's flag is relaxed, so
// nothing happens before anything.
client {
    atomic y;
    thread first  { foo(); y.store(1, rlx); }
    thread second { wait(y, 1, rlx); bar(); }
}

// Example 2.1, the first reason: `bar` may return 1 although the call of `foo` has not reached its caller.
max_value 1;

spec once {
    atomic x;
    method foo() { x.store(1, rel); return(); }
    method bar() { local a; a = x.load(acq); return(a); }
}

library once {
    atomic x;
    method foo() { x.store(1, rlx); return(); }
    method bar() { local a; a = x.load(rlx); return(a); }
}

// foo and bar are called once, bar after foo has returned; but the client's flag is relaxed, so
// nothing happens before anything.
client {
    atomic y;
    thread first  { foo(); y.store(1, rlx); }
    thread second { wait(y, 1, rlx); bar(); }
}

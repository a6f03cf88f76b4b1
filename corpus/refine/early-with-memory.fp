// The client of this library has memory of its own, and acquires what `put` did by it, after `rung` has returned. What reaches thread b in
// the specification when `rung` acquires must be shown before `rung` returns: a client that acquires less could tell the library, whose
// `rung` does not acquire, from its specification.
max_value 1;

spec box {
    atomic d, s;
    method put() { d.store(1, rlx); return(); }
    method ring() { s.store(1, prel); return(); }
    method rung() { local a; a = s.load(pacq); return(a); }
    method get() { local a; a = d.load(rlx); return(a); }
}

library box {
    atomic d, s;
    method put() { d.store(1, rlx); return(); }
    method ring() { s.store(1, prel); return(); }
    method rung() { local a; a = s.load(rlx); return(a); }
    method get() { local a; a = d.load(rlx); return(a); }
}

client {
    atomic y;
    thread a { put(); y.store(1, rel); ring(); }
    thread b {
        local r, v;
        r = rung();
        if (r == 1) {
            v = y.load(acq);
            if (v == 1) {
                get();
            }
        }
    }
}

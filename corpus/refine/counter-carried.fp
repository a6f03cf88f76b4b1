// A relaxed counter, and one under a partial lock. The lock lets the marker of the second call carry the first one's to a
// third thread, where the history may show it first: the first one must have arrived there early, before the second is
// issued, although the third thread does nothing.
max_value 3;

spec counter {
    atomic x, l;
    method inc() { local r; pacquire(l); r = x.load(rlx); x.store(r + 1, rlx); prelease(l); return(r); }
    method nop() { return(); }
}

library counter {
    atomic x;
    method inc() { local r; r = FADD(x, 1, rlx, rlx); return(r); }
    method nop() { return(); }
}

client { thread a { inc(); } thread b { inc(); } thread c { nop(); } }

// The assertion fails at once. That the program is not robust either shows only after both other
// threads have counted to the end, tens of thousands of states later. A search that stops at the
// assertion does not know whether the program is robust, and must not say that it is. (All threads access `z`: one that shares
// nothing with the others would be checked apart from them.)
// expect rc20 assertions: violated
// expect rc20 robustness: undecided

max_value 100;
atomic z, x, y;

thread fails { local r; r = z.load(rlx); assert(0); }

thread first {
    local n, r;
    while (n < 100) { n = n + 1; z.store(n, rlx); }
    x.store(1, rlx);
    r = y.load(rlx);
}

thread second {
    local n, r;
    while (n < 100) { n = n + 1; z.store(100 - n, rlx); }
    y.store(1, rlx);
    r = x.load(rlx);
}

thread third {
    local n;
    while (n < 20) { n = n + 1; z.store(5 * n, rlx); }
}

// Lamport's bakery for two, all accesses `seq_cst`; numbers start again at 0 when nobody is there.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated
// expect rc11 races: holds

max_value 3;
atomic choosing[2], number[2];
na cs;

thread t[2] {
    local n, c, r;
    choosing[t].store(1, sc);
    n = number[1 - t].load(sc);
    number[t].store(n + 1, sc);
    choosing[t].store(0, sc);
    wait(choosing[1 - t], 0, sc);
    c = number[1 - t].load(sc);
    while (c != 0 && (c < n + 1 || (c == n + 1 && t == 1))) {
        c = number[1 - t].load(sc);
    }
    cs.nastore(t);
    r = cs.naload();
    assert(r == t);
    number[t].store(0, sc);
}

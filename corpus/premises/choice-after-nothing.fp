// The store changes nothing that anybody sees, so a thread that has made it is where it was: before
// the choice. Looking ahead from there must not count as having followed the other branch.
// expect rc20 robustness: violated
// expect ra robustness: holds

atomic y, c;

thread t[2] {
    local u;
    u = c.load(rlx);
    AGAIN: oneof({ y.store(0, rel); goto AGAIN; }{ skip; });
    oneof({ FADD(c, 1, rlx, rlx); }{ skip; });
}

// Store buffering that matters: each thread raises its flag, and enters if the other's is down. Every interleaving
// keeps one of them out; on weak memory both may enter, and the second increment finds the first.
//
// expect rc11 robustness: violated
// expect sc assertions: holds

max_value 2;
atomic flag[2], inside;

thread t[2] {
    local r, c;
    flag[t].store(1, rlx);
    r = flag[1 - t].load(rlx);
    if (r == 0) {
        c = FADD(inside, 1, rlx, rlx);
        assert(c == 0);
    }
}

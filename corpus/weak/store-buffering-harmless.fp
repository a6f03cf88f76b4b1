// Store buffering that does no harm: two workers announce that they are done, and whoever sees the other's
// announcement says so. Both may miss the other's, which no interleaving does; nobody relies on it.
//
// expect rc11 robustness: violated
// expect ra robustness: violated

max_value 1;
atomic done[2], both;

thread worker[2] {
    local r, b;
    done[worker].store(1, rlx);
    r = done[1 - worker].load(rlx);
    if (r == 1) {
        both.store(1, rlx);
    }
    b = both.load(rlx);
    assert(b == 0 || b == 1);
    if (r == 1) { assert(b == 1); }
}

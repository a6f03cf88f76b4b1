// Each thread sets its own bit and looks who else did: the two cannot both be first.
// expect rc20 robustness: holds
// expect rc20 races: holds
// expect rc20 assertions: holds
na first;
global flags, winners;
thread t[2] {
    local r;
    r = fetch_or(flags, t + 1, acq, rel);
    if (r == 0) { first.nastore(t); r = fetch_xor(winners, 1, rlx, rlx); assert(r == 0); }
}

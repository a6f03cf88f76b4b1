// Spin lock by a relaxed exchange and an acquire fence.
//
// The exchange spins relaxed; only the winner pays for the acquire fence, which picks up what the previous
// owner released.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic l;
na cs;

thread t[2] {
    local r;
    while (true) {
        spin:
        r = exchange(l, 1, rlx, rlx);
        if (r != 0) goto spin;
        fence(acq);

        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        l.store(0, rel);
    }
}

// Spin lock by counting contenders, four threads, relaxed.
//
// The old Linux spin lock: whoever increments 0 is the owner, the others wait for 0 and try again. All RMWs
// are relaxed, an acquire fence is paid by the owner only. max_value is large enough for all contenders at
// once.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 10;
atomic l;
na cs;

thread t[4] {
    local r;
    while (true) {
        r = FADD(l, 1, rlx, rlx);
        if (r == 0) {
            fence(acq);
            cs.nastore(t);
            r = cs.naload();
            assert(r == t);
            l.store(0, rel);
        } else {
            wait(l, 0, rlx);
        }
    }
}

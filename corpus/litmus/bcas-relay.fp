// A token passed by blocking compare-and-swaps.
//
// Each BCAS waits for its predecessor's value and hands on the next. Acquire-release RMWs order the three
// increments of the non-atomic counter.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic token;
na count;

thread t[3] {
    local c;
    BCAS(token, t, t, acq, rlx);
    c = count.naload();
    assert(c == t);
    count.nastore(c + 1);
    BCAS(token, t, t + 1, rlx, rel);
}

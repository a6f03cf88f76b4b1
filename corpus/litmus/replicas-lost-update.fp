// An increment by load and store loses updates: the assertion fails.
//
// Nothing weak about this one: the counter is wrong in some interleavings, and `sc assertions` reports it. The
// program is robust: no fence or stronger mode would help, it needs an RMW.
//
// expect sc assertions: violated
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic count, done;

thread t[2] {
    local c, d;
    c = count.load(rlx);
    count.store(c + 1, rlx);
    d = FADD(done, 1, acq, rel);
    if (d == 1) {
        c = count.load(rlx);
        assert(c == 2);
    }
}

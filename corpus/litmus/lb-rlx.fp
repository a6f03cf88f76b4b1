// Load buffering.
//
// Each thread reads one location and then writes the other. Both reading 1 would mean that each value comes
// from the future of the other; RC20 forbids it outright (no cycle of program order and reads-from), so even
// with relaxed accesses the program is robust.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a;
    a = x.load(rlx);
    y.store(1, rlx);
    verify(a);
}

thread right {
    local a;
    a = y.load(rlx);
    x.store(1, rlx);
    verify(a);
}

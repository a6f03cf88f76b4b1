// Event counters read while the workers are running.
//
// A monitor that looks at two relaxed counters at work may see counts that never existed together. Whether
// that matters is the program's affair; here the difference is used, so it counts.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic started, finished;

thread worker[2] {
    FADD(started, 1, rlx, rlx);
    FADD(finished, 1, rlx, rlx);
}

thread monitor {
    local s, f;
    f = finished.load(rlx);
    s = started.load(rlx);
    assert(f <= s);
}

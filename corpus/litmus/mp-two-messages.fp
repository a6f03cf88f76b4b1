// Two messages through one flag.
//
// The flag counts messages; the reader of the second one knows both. A single release store publishes
// everything before it, also what an earlier release published.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic first, second, flag;

thread writer {
    first.store(1, rlx);
    flag.store(1, rel);
    second.store(1, rlx);
    flag.store(2, rel);
}

thread reader {
    local f, a, b;
    f = flag.load(acq);
    if (f == 2) {
        a = first.load(rlx);
        b = second.load(rlx);
        assert(a == 1 && b == 1);
    }
}

// Coherence: two stores of one thread to one location.
//
// Stores of one thread to one location stay in program order, also in PSO, where only stores to different
// locations may overtake each other.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, done;

thread writer {
    x.store(1, rlx);
    x.store(2, rlx);
    done.store(1, rel);
}

thread reader {
    local a;
    wait(done, 1, acq);
    a = x.load(rlx);
    assert(a == 2);
}

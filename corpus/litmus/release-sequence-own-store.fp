// A relaxed store after a release store of the same thread.
//
// Up to C++17 the writer's second store would have continued its own release sequence. C++20, and RC20 with
// it, dropped that: only RMWs continue one, and the reader of 2 acquires nothing.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    flag.store(1, rel);
    flag.store(2, rlx);
}

thread reader {
    local d;
    wait(flag, 2, acq);
    d = data.load(rlx);
    assert(d == 1);
}

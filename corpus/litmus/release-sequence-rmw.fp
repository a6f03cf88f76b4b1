// A release sequence continued by a relaxed RMW.
//
// The bystander's FADD is relaxed, but an RMW that reads from a release store passes its message on. The
// reader of 2 acquires what the writer released, not what the bystander did before.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic data, flag;

thread writer {
    data.store(1, rlx);
    flag.store(1, rel);
}

thread bystander {
    FADD(flag, 1, rlx, rlx);
}

thread reader {
    local d;
    wait(flag, 2, acq);
    d = data.load(rlx);
    assert(d == 1);
}

// A release sequence broken by a relaxed store.
//
// The bystander does what FADD would, but by a load and a relaxed store. A plain store starts afresh: whoever
// reads 2 has read nothing that was released.
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
}

thread bystander {
    wait(flag, 1, rlx);
    flag.store(2, rlx);
}

thread reader {
    local d;
    wait(flag, 2, acq);
    d = data.load(rlx);
    assert(d == 1);
}

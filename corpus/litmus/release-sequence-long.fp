// A release sequence of three links.
//
// Two replicas bump the flag by relaxed RMWs. The reader of 3 acquires the head of the sequence, however long
// the chain; with na data this is also the proof that there is no race.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
atomic flag;
na data;

thread writer {
    data.nastore(1);
    flag.store(1, rel);
}

thread bystander[2] {
    wait(flag, 1, 2, rlx);
    FADD(flag, 1, rlx, rlx);
}

thread reader {
    local d;
    wait(flag, 3, acq);
    d = data.naload();
    assert(d == 1);
}

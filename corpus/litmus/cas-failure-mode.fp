// A compare-and-swap whose failing read has a mode of its own.
//
// Success is acquire-release, failure relaxed (the third mode). The thread that loses acquires nothing, and
// then reads the winner's data: stale.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic owner, data;

thread winner {
    data.store(1, rlx);
    owner.store(1, rel);
}

thread loser {
    local r, d;
    r = CAS(owner, 0, 1, acq, rel, rlx);
    if (r == 1) {
        d = data.load(rlx);
        assert(d == 1);
    }
}

// Non-atomic data overwritten after its reader said it is done.
//
// The other half of a hand-over: the owner may reuse the buffer only after the reader has finished. The reader
// says so by a relaxed store, which orders nothing, so its read races with the owner's next write.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic done;
na buffer = 1;

thread reader {
    local d;
    d = buffer.naload();
    assert(d == 1);
    done.store(1, rlx);
}

thread owner {
    wait(done, 1, acq);
    buffer.nastore(2);
}

// Event counters summed up after the workers have finished.
//
// Workers count relaxed, which is as cheap as it gets; the main thread waits for each of them with an
// acquiring wait and then reads the exact totals. Counting needs atomicity, only the end needs order.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
atomic reads, writes, finished[2];

thread worker[2] {
    oneof({ FADD(reads, 1, rlx, rlx); }{ FADD(writes, 1, rlx, rlx); });
    oneof({ FADD(reads, 1, rlx, rlx); }{ FADD(writes, 1, rlx, rlx); });
    finished[worker].store(1, rel);
}

thread main {
    local r, w;
    wait(finished[0], 1, acq);
    wait(finished[1], 1, acq);
    r = reads.load(rlx);
    w = writes.load(rlx);
    assert(r + w == 4);
}

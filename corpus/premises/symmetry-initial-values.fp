// Two threads that look alike but do not start alike: `turn` names one of them. Exchanging them
// exchanges `data[0]` and `data[1]`, but not what can go wrong at each: thread 1 goes first, so
// only thread 0 can read a stale `data`. A search that watches `data[0]` and takes it for both sees
// nothing.
// expect rc20 robustness: violated
// expect ra robustness: holds
// expect sc assertions: holds

atomic turn = 1, data[2];

thread t[2] {
    local r;
    data[t].store(1, rlx);
    wait(turn, t, rlx);
    r = data[1 - t].load(rlx);
    turn.store(1 - t, rlx);
}

// Dekker's mutual exclusion with the fences that x86 needs. Where stores overtake stores, the lock may be given back
// before the critical section has reached memory.
//
// expect tso robustness: holds
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 2;
global flag[2], turn, data;

thread t[2] {
    local other, w, r;
    while (true) {
        flag[t].store(1, rlx); fence(seq_cst);
        other = flag[1 - t].load(rlx);
        while (other == 1) {
            w = turn.load(rlx);
            if (w != t) {
                flag[t].store(0, rlx);
                wait(turn, t, rlx);
                flag[t].store(1, rlx); fence(seq_cst);
            }
            other = flag[1 - t].load(rlx);
        }
        data.store(t, rlx);
        r = data.load(rlx);
        turn.store(1 - t, rlx);
        flag[t].store(0, rlx);
    }
}

// MCS queue lock, two threads that pass it for ever. The store that hands the lock over may overtake the stores of the
// critical section.
//
// expect tso robustness: holds
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 2;
const N = 2;
global tail, next[N + 1], wait_for[N + 1], data;

thread t[N] {
    local pred, succ, r;
    while (true) {
        next[t + 1].store(0, rlx);
        pred = exchange(tail, t + 1, rlx, rlx);
        if (pred != 0) {
            wait_for[t + 1].store(1, rlx);
            next[pred].store(t + 1, rlx);
            wait(wait_for[t + 1], 0, rlx);
        }
        r = data.load(rlx);
        data.store(t, rlx);
        succ = next[t + 1].load(rlx);
        if (succ == 0) {
            r = CAS(tail, t + 1, 0, rlx, rlx);
            if (r != t + 1) {
                while (succ == 0) { succ = next[t + 1].load(rlx); }
            }
        }
        if (succ != 0) { wait_for[succ].store(0, rlx); }
    }
}

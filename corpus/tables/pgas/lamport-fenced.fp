// Lamport's fast mutual exclusion, three threads, with a fence behind every store but the last before a thread waits or
// starts again.
//
// expect tso robustness: holds
// expect pso robustness: holds
// expect pgas robustness: holds

max_value 4;
const N = 3;
global busy[N], x, y;

thread t[N] {
    local v, j;
    while (true) {
        start:
        busy[t].store(1, rlx); fence(seq_cst);
        x.store(t + 1, rlx); fence(seq_cst);
        v = y.load(rlx);
        if (v != 0) {
            busy[t].store(0, rlx);
            wait(y, 0, rlx);
            goto start;
        }
        y.store(t + 1, rlx); fence(seq_cst);
        v = x.load(rlx);
        if (v != t + 1) {
            busy[t].store(0, rlx); fence(seq_cst);
            j = 0;
            while (j < N) {
                wait(busy[j], 0, rlx);
                j = j + 1;
            }
            v = y.load(rlx);
            if (v != t + 1) {
                wait(y, 0, rlx);
                goto start;
            }
        }
        y.store(0, rlx); fence(seq_cst);
        busy[t].store(0, rlx);
    }
}

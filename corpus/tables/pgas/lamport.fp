// Lamport's fast mutual exclusion, three threads, without fences.
//
// expect tso robustness: violated
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 4;
const N = 3;
global busy[N], x, y;

thread t[N] {
    local v, j;
    while (true) {
        start:
        busy[t].store(1, rlx);
        x.store(t + 1, rlx);
        v = y.load(rlx);
        if (v != 0) {
            busy[t].store(0, rlx);
            wait(y, 0, rlx);
            goto start;
        }
        y.store(t + 1, rlx);
        v = x.load(rlx);
        if (v != t + 1) {
            busy[t].store(0, rlx);
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
        y.store(0, rlx);
        busy[t].store(0, rlx);
    }
}

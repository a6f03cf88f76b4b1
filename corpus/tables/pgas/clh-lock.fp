// CLH queue lock, three threads that pass it for ever. The store that gives the lock back may overtake the stores of the
// critical section.
//
// expect tso robustness: holds
// expect pso robustness: violated
// expect pgas robustness: violated

max_value 4;
const N = 3;
global tail = N, locked[N + 1], data;

thread t[N] {
    local mine, pred, r;
    mine = t;
    while (true) {
        locked[mine].store(1, rlx);
        pred = exchange(tail, mine, rlx, rlx);
        wait(locked[pred], 0, rlx);
        r = data.load(rlx);
        data.store(t, rlx);
        locked[mine].store(0, rlx);
        mine = pred;
    }
}

// MCS queue lock, two threads.
//
// Each thread waits on a flag in its own node, and the nodes form a queue. Unlock tries the CAS first (the
// original peeks at `next` before); then a stale `next` cannot be read, because the wait accepts only a
// successor.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
const N = 2;
atomic tail, next[N], blocked[N];      // 0 is nil, i + 1 is the node of thread i
na cs;

thread t[N] {
    local p, n, r;
    while (true) {
        // lock: append my node, wait for my predecessor
        next[t].store(0, rlx);
        blocked[t].store(1, rlx);
        p = exchange(tail, t + 1, acq, rel);
        if (p != 0) {
            next[p - 1].store(t + 1, rel);
            wait(blocked[t], 0, acq);
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        // unlock: remove my node if it is the last, else wake my successor
        r = CAS(tail, t + 1, 0, rlx, rel);
        if (r != t + 1) {
            n = wait(next[t], 1, 2, acq);
            blocked[n - 1].store(0, rel);
        }
    }
}

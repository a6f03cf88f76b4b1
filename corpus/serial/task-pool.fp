// Figure 1 of "On Atomicity in Presence of Non-atomic Writes" (Enea and Farzan, TACAS 2016): a pool of tasks, taken
// from both ends, with one task left. Each thread moves its counter, and if the counters have crossed moves it back.
// Each of the two parts should be atomic.
//
// On x86 both writes may wait in their buffers while both threads look at the counters, and both take the last task:
// not atomic, and not robust. The paper also says that every interleaving is serializable. That is not so: both
// threads may find the counters crossed, and each moves its own back after the other has looked at it. One after the
// other, the second would have found a task. task-pool-undo-apart.fp has the undo in a block of its own, where what
// the paper says is true.
//
// expect tso serializability: violated
// expect sc serializability: violated
// expect tso robustness: violated

max_value 3;
global head = 0, tail = 1, pool[2] = 1;

thread front {
    local h, t, task;
    atomic { h = head.load(rlx); head.store(h + 1, rlx); }
    atomic {
        h = head.load(rlx);
        t = tail.load(rlx);
        if (h <= t) {
            task = pool[h - 1].load(rlx);
            pool[h - 1].store(0, rlx);
        } else {
            head.store(h - 1, rlx);
        }
    }
}

thread back {
    local h, t, task;
    atomic { t = tail.load(rlx); tail.store(t - 1, rlx); }
    atomic {
        h = head.load(rlx);
        t = tail.load(rlx);
        if (h <= t) {
            task = pool[t].load(rlx);
            pool[t].store(0, rlx);
        } else {
            tail.store(t + 1, rlx);
        }
    }
}

// The task pool of task-pool.fp (Figure 1 of Enea and Farzan, TACAS 2016), but a thread that finds the counters crossed
// moves its own back in a block of its own. This has the verdicts of the paper: every interleaving is serializable, and
// x86 takes the last task twice.
//
// expect tso serializability: violated
// expect sc serializability: holds
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
        }
    }
    if (h > t) {
        atomic { head.store(h - 1, rlx); }
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
        }
    }
    if (h > t) {
        atomic { tail.store(t + 1, rlx); }
    }
}

// The task pool of task-pool.fp, repaired by fences: each thread's counter is in memory before it looks at the other's.
// The last task is taken once, and the program is robust, so there is no difference any more between x86 and
// interleavings. Both threads may still give up at the same time, which no serial order explains.
//
// expect tso serializability: violated
// expect sc serializability: violated
// expect tso robustness: holds

max_value 3;
global head = 0, tail = 1, pool[2] = 1;

thread front {
    local h, t, task;
    atomic { h = head.load(rlx); head.store(h + 1, rlx); fence(seq_cst); }
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
    atomic { t = tail.load(rlx); tail.store(t - 1, rlx); fence(seq_cst); }
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

// The repair of task-pool-undo-apart.fp: with a fence behind each move of a counter the program is robust, and by
// Theorem 2 of the paper atomic on x86 because its interleavings are.
//
// expect tso serializability: holds
// expect sc serializability: holds
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
        }
    }
    if (h > t) {
        atomic { head.store(h - 1, rlx); }
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
        }
    }
    if (h > t) {
        atomic { tail.store(t + 1, rlx); }
    }
}

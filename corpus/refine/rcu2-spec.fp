// Read-copy-update by locks, 2 readers: a reader holds its own lock while it is inside its critical
// section, and the writer waits for each reader by taking its lock once, in any order.
max_value 1;

spec rcu {
    atomic l[2];

    method read_lock(me)   { acquire(l[me]); return(); }
    method read_unlock(me) { release(l[me]); return(); }
    method synchronize() {
        oneof (
            { acquire(l[0]); release(l[0]); acquire(l[1]); release(l[1]); }
            { acquire(l[1]); release(l[1]); acquire(l[0]); release(l[0]); }
        );
        return();
    }
}

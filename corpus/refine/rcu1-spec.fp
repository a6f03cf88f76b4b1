// Read-copy-update by locks, 1 reader: a reader holds its own lock while it is inside its critical
// section, and the writer waits for each reader by taking its lock once, in any order.
max_value 1;

spec rcu {
    atomic l[1];

    method read_lock(me)   { acquire(l[me]); return(); }
    method read_unlock(me) { release(l[me]); return(); }
    method synchronize() {
        acquire(l[0]); release(l[0]);
        return();
    }
}

// A reader raises a flag while it is inside, and the writer waits until it sees it lowered. Calls and
// returns are those of the specification with locks, but a writer may see a flag that is not yet raised.
library rcu {
    atomic rcs[1];

    method read_lock(me)   { rcs[me].store(1, rel); return(); }
    method read_unlock(me) { rcs[me].store(0, rel); return(); }
    method synchronize()   { wait(rcs[0], 0, acq); return(); }
}

// The specification of Gotsman et al. (2013) with flags (Remark 4). It is too weak on weak memory: it lets
// the client in rcu1-user.fp read what it must not.
max_value 1;

spec rcu {
    atomic rcs[1];

    method read_lock(me)   { rcs[me].store(1, rel); return(); }
    method read_unlock(me) { rcs[me].store(0, rel); return(); }
    method synchronize()   { wait(rcs[0], 0, acq); return(); }
}

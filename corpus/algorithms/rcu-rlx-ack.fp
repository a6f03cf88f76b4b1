// Read-copy-update with relaxed acknowledgements.
//
// The readers acknowledge the epoch by a relaxed store. In every interleaving all is well, but the writer's
// reuse of the cell is not ordered after the reads before the acknowledgement: a race.
//
// expect sc assertions: holds
// expect rc20 races: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic current, epoch, seen[2];
na cell[2] = 1;

thread writer {
    local c, e;
    while (true) {
        // prepare the other cell and switch to it
        cell[1 - c].nastore(1);
        c = 1 - c;
        current.store(c, rel);

        // grace period: every reader passes through a quiescent state
        e = 1 - e;
        epoch.store(e, rel);
        wait(seen[0], e, acq);
        wait(seen[1], e, acq);

        // nobody can see the old cell any more
        cell[1 - c].nastore(0);
    }
}

thread reader[2] {
    local c, v, e;
    while (true) {
        oneof({
            // read-side critical section
            c = current.load(acq);
            v = cell[c].naload();
            assert(v == 1);
        }{
            // quiescent state
            e = epoch.load(acq);
            seen[reader].store(e, rlx);
        });
    }
}

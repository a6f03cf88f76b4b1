// Read-copy-update, one writer and three readers.
//
// The writer flips between two cells and reuses the old one after every reader has acknowledged the new epoch.
// Readers never wait, and cells are non-atomic.
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
atomic current, epoch, seen[3];
na cell[2] = 1;

thread writer {
    local c;
    while (true) {
        c = 1 - c;
        cell[c].nastore(1);
        current.store(c, rel);

        // the epoch alternates with the cell
        epoch.store(c, rel);
        wait(seen[0], c, acq);
        wait(seen[1], c, acq);
        wait(seen[2], c, acq);
        cell[1 - c].nastore(0);
    }
}

thread reader[3] {
    local c, v;
    while (true) {
        oneof({
            c = current.load(acq);
            v = cell[c].naload();
            assert(v == 1);
        }{
            c = epoch.load(acq);
            seen[reader].store(c, rel);
        });
    }
}

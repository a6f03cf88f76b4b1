// Read-copy-update where threads go offline, three threads, two of which also write.
//
// A thread that is offline need not acknowledge anything, but must see the current cell when it comes back:
// hence the SC fences after changing `seen`. Writers exclude each other by a lock and are offline while they
// wait.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
const N = 3;
const WRITERS = 2;                  // threads that also update,
const UPDATES = 1;                  // and how often each of them does
atomic current, epoch = 1, seen[N], l;
atomic cell[2] = 1;

thread t[N] {
    local online, updates, c, v, e;
    while (true) {
        oneof({
            // read
            if (online) {
                c = current.load(acq);
                v = cell[c].load(acq);
                assert(v == 1);
            }
        }{
            // go online, or pass through a quiescent state
            e = epoch.load(acq);
            seen[t].store(e, rel);
            fence(sc);
            online = 1;
        }{
            // go offline
            if (online) {
                seen[t].store(0, rel);
                fence(sc);
                online = 0;
            }
        }{
            // update: a writer is offline while it waits for the others
            if (t < WRITERS && updates < UPDATES) {
                updates = updates + 1;
                seen[t].store(0, rel);
                online = 0;
                lock(l);
                c = current.load(acq);
                cell[1 - c].store(1, rel);
                current.store(1 - c, rel);
                e = epoch.load(acq);
                e = e + 1;
                epoch.store(e, rel);
                fence(sc);
                wait(seen[0], e, 0, acq);
                wait(seen[1], e, 0, acq);
                wait(seen[2], e, 0, acq);
                cell[c].store(0, rel);
                unlock(l);
            }
        });
    }
}

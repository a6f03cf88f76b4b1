// An event count: waiters announce themselves and look at the condition once more, the notifier changes the condition
// and then looks for waiters.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 255;
atomic ready, waiters, epoch;

thread waiter[2] {
    local c, e;
    FADD(waiters, 1, sc, sc);
    e = epoch.load(sc);
    c = ready.load(sc);
    if (c == 0) {
        wait(epoch, 1, sc);
    }
    FADD(waiters, 0 - 1, sc, sc);
}

thread notifier {
    local w;
    ready.store(1, sc);
    w = waiters.load(sc);
    if (w > 0) {
        epoch.store(1, sc);
    }
}

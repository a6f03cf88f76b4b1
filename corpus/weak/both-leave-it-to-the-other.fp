// Two threads announce themselves; whoever sees the other raises the flag that the second waits for. Every interleaving has
// one that sees the other. On weak memory both may miss each other, and the second waits for ever: `--liveness` shows it.
//
// expect rc11 robustness: violated

max_value 1;
atomic first, second, go;

thread a {
    local seen;
    first.store(1, rlx);
    seen = second.load(rlx);
    if (seen == 1) {
        go.store(1, rlx);
    }
}

thread b {
    local seen;
    second.store(1, rlx);
    seen = first.load(rlx);
    if (seen == 1) {
        go.store(1, rlx);
    }
    do {
        seen = go.load(rlx);
    } while (seen == 0);
}

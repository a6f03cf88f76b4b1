// Stale values replaced before they are used.
//
// The reader peeks at both words early, perhaps to prefetch, and may see the new second word with the old
// first one. It then waits for the flag and reads again into the same locals. Overwriting a local cleans it:
// what the assertion sees is never stale.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: violated

max_value 1;
atomic first, second, ready;

thread writer {
    first.store(1, rlx);
    second.store(1, rlx);
    ready.store(1, rel);
}

thread reader {
    local a, b;
    b = second.load(rlx);
    a = first.load(rlx);
    wait(ready, 1, acq);
    a = first.load(rlx);
    b = second.load(rlx);
    assert(a == 1 && b == 1);
}

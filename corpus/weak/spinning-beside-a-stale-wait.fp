// Thread b may read q = 1 and then the stale y = 0: nothing that it read acquires y. Once thread a has read the stale x = 0,
// b may not any more, as the four `sc` accesses would have no order. Thread `spin` can move all the time and leads nowhere, so a
// search that lets only the threads of a small set move must not believe that the stale read of a is enough.
//
// expect rc11 robustness: violated

atomic x, y, z, w, f;

thread b {
    local q, r;
    x.store(1, sc);
    f.store(1);
    q = z.load();
    r = y.load(sc);
    assert(!(q == 1 && r == 0));
}

thread spin {
    local r;
    while (r == 0) {
        r = w.load();
    }
}

thread a {
    wait(f, 1);
    y.store(1, sc);
    z.store(1);
    wait(x, 0, sc);
    w.store(1);
}

thread d {
    wait(w, 2);
    y.store(2);
}

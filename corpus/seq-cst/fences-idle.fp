// A fence that RC20 makes too visible.
//
// Taken for updates of one location, the two fences are ordered, and a cycle goes through their order. In C++20 and RC11
// there is none: nothing is before the one fence and nothing after the other.
//
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 2;
atomic x, y;

thread first {
    fence(sc);
    y.store(1, rlx);
}

thread second {
    x.store(1, rlx);
    fence(sc);
}

thread third {
    local a;
    a = y.load(rlx);
    x.store(2, rlx);
    verify(a);
}

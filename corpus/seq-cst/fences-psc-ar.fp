// A fence that RC20 makes too strong.
//
// Taken for an update of one location, the first fence happens before the second, and the last load cannot miss z. In C++20
// and RC11 nothing orders the two fences: each is ordered only by what the accesses around it read and write.
//
// expect rc11 robustness: violated
// expect rc20 robustness: holds

max_value 2;
atomic x, y, z;

thread reader {
    local a, b;
    a = y.load(rlx);
    fence(sc);
    b = z.load(rlx);
    verify(a + b);
}

thread writer {
    z.store(1, rlx);
    fence(sc);
    x.store(1, rlx);
}

thread link {
    local d;
    d = x.load(rlx);
    if (d == 1) {
        y.store(1, rlx);
    }
}

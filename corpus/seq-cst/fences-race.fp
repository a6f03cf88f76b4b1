// A program that races with native SC fences only.
//
// Taken for updates of one location, the fences synchronise: whichever comes first, the accesses to n are ordered. In C++20
// and RC11 an SC fence synchronises like an acquire and a release fence, through what is read, and the store that is read
// here comes after the access to n but not after a release of it that the reader acquires.
//
// expect rc11 races: violated
// expect rc20 races: holds

max_value 1;
atomic w, y;
na n;

thread owner {
    local a;
    n.nastore(1);
    fence(sc);
    a = y.load(rlx);
    if (a == 0) {
        w.store(1, rlx);
    }
}

thread other {
    local b, c;
    y.store(1, rlx);
    fence(sc);
    b = w.load(rlx);
    if (b == 1) {
        c = n.naload();
    }
}

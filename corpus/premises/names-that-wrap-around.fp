// The number of the second thread, and 3, is 4, which is no value: it wraps around and names `a[0]`, while the
// first thread's names `a[3]`. So to exchange the numbers is not to exchange `a[3]` and `a[4]`, and whoever comes
// first at `x`, both threads must be seen to go on: the second sets `a[0]`.
//
// expect rc20 assertions: violated
// expect sc assertions: violated

max_value 3;
atomic a[7], x;

thread t[2] {
    local p, r;
    p = t;
    r = CAS(x, 0, 1, acq, rel);
    if (r == 0) {
        a[p + 3].store(1, rlx);
    }
}

thread u {
    local r;
    r = a[0].load(rlx);
    assert(r == 0);
}

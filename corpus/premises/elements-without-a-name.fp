// The threads set `a[0]` and `a[1]`, and a value stands for the element after it: 0 for `a[1]`, and for `a[0]` there would have
// to be -1, which is no value. So the threads cannot be exchanged, though their code is the same.
//
// expect sc assertions: violated
// expect rc20 robustness: violated
// expect rc20 assertions: violated
// expect ra robustness: violated

max_value 3;
atomic q, a[2];

thread t0 {
    local p, s, u;
    a[0].store(1, rlx);
    p = q.load(rlx);
    s = CAS(q, p, p, rlx, rlx);
    a[p + 1].store(2, rlx);
    u = a[0].load(rlx);
    assert(u == 1);
}

thread t1 {
    local p, s, u;
    a[1].store(1, rlx);
    p = q.load(rlx);
    s = CAS(q, p, p, rlx, rlx);
    a[p + 1].store(2, rlx);
    u = a[1].load(rlx);
    assert(u == 1);
}

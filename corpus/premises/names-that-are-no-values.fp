// The number of the second thread, and 2, is 3, which is no value: it wraps around and names `go[0]`, while the first
// thread's names `go[2]`. To exchange these two, 0 would have to change places with -2, which is no value either, and
// 1, whose sum wraps around as well, would have to name `go[2]`.
//
// expect ra robustness: holds
// expect rc20 robustness: holds
// expect sc assertions: holds

max_value 2;
atomic x, last = 1, go[4];
atomic link[4] = {0, 1, 2, 0};

thread t[2] {
    local p, o, r;
    p = t;
    o = last.load(acq);
    oneof({
        if (o != 2) {
            o = link[o + 2].load(acq);
        }
        wait(go[t + 2], 1, rlx);
        if (r == 0) {
            p = link[t + 2].load(acq);
        }
    } {
        r = CAS(x, 0, 1, acq, rlx);
        o = last.load(rlx);
        r = CAS(x, 0, 1, acq, rlx);
        wait(go[t + 2], 1, rlx);
    });
    o = exchange(link[o + 2], o, rlx, rel);
}

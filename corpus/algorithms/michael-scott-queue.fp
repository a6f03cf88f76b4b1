// Michael and Scott's queue, two enqueuers and a dequeuer.
//
// A linked list with a dummy node 0; enqueuers append with CAS on the last node's next and then swing the
// tail, helping each other. Nodes come from an array and are used once; next == 0 means end of list.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic head, tail, next[3];
na value[3];

thread enqueuer[2] {
    local last, n, r;
    value[enqueuer + 1].nastore(enqueuer + 1);
    retry:
    last = tail.load(acq);
    n = next[last].load(acq);
    if (n != 0) {
        // help the other to swing the tail
        CAS(tail, last, n, acq, rel);
        goto retry;
    }
    r = CAS(next[last], 0, enqueuer + 1, acq, rel);
    if (r != 0) goto retry;
    CAS(tail, last, enqueuer + 1, acq, rel);
}

thread dequeuer {
    local first, last, n, r, v, got;
    while (got < 2) {
        first = head.load(acq);
        last = tail.load(acq);
        n = next[first].load(acq);
        if (first == last) {
            if (n != 0) {
                CAS(tail, last, n, acq, rel);
            }
        } else {
            v = value[n].naload();
            assert(v == n);
            r = CAS(head, first, n, acq, rel);
            if (r == first) {
                got = got + 1;
            }
        }
    }
}

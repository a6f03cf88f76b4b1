// The flag is relaxed, so it does not order the accesses to data.
atomic flag;
na data;

thread writer {
    data.nastore(7);
    flag.store(1, rlx);
}

thread reader {
    local f, d;
    f = flag.load(rlx);
    if (f) {
        d = data.naload();
    }
}

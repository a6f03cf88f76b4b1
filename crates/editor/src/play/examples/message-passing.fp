// The flag is stored with release and read with acquire:
// who sees the flag sees the data. Try  rlx  instead.
atomic flag;
na data;

thread writer {
    data.nastore(7);
    flag.store(1, rel);
}

thread reader {
    local f, d;
    f = flag.load(acq);
    if (f) {
        d = data.naload();
        assert(d == 7);
    }
}

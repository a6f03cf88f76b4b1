// Burns' and Lamport's lock of one bit for each thread, all seq_cst: the first thread waits for the second, the second
// steps back for the first.
//
// expect rc11 robustness: holds
// expect rc11 races: holds

max_value 1;
atomic flag[2];
na inside;

thread first {
    local other, r;
    flag[0].store(1, sc);
    do { other = flag[1].load(sc); } while (other == 1);
    inside.nastore(0);
    r = inside.naload();
    assert(r == 0);
    flag[0].store(0, sc);
}

thread second {
    local other, r;
    do {
        flag[1].store(0, sc);
        do { other = flag[0].load(sc); } while (other == 1);
        flag[1].store(1, sc);
        other = flag[0].load(sc);
    } while (other == 1);
    inside.nastore(1);
    r = inside.naload();
    assert(r == 1);
    flag[1].store(0, sc);
}

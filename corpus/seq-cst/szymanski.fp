// Szymanski's lock for two threads, all seq_cst: a waiting room with two doors. 1 wants to enter, 3 is at the door, 2 waits
// for others in the room, 4 has closed the door behind itself.
//
// expect rc11 robustness: holds
// expect rc11 races: holds

max_value 4;
atomic flag[2];
na inside;

thread t[2] {
    local other, r;
    flag[t].store(1, sc);
    do { other = flag[1 - t].load(sc); } while (other >= 3);
    flag[t].store(3, sc);
    other = flag[1 - t].load(sc);
    if (other == 1) {
        flag[t].store(2, sc);
        do { other = flag[1 - t].load(sc); } while (other != 4);
    }
    flag[t].store(4, sc);
    if (t == 1) {
        do { other = flag[0].load(sc); } while (other >= 2);
    }
    inside.nastore(t);
    r = inside.naload();
    assert(r == t);
    if (t == 0) {
        do { other = flag[1].load(sc); } while (other == 2 || other == 3);
    }
    flag[t].store(0, sc);
}

// Numbers of threads name elements of `link`, and there is one element too few: the third thread's
// number names none. So its number cannot be exchanged with the others', although all threads do the same, and
// whoever comes after the third thread finds no element.
//
// expect rc20 assertions: undecided
// expect sc assertions: undecided

max_value 3;
atomic last, link[2];

thread t[3] {
    local before;
    before = exchange(last, t + 1, acq, rel);
    if (before != 0) {
        link[before - 1].store(1, rlx);
    }
}

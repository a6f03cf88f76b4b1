// Equal threads over an array that is too short for the second: `a[1]` is out of range, `a[0]` is
// not, so the threads cannot be exchanged although their code is the same.
// expect rc20 robustness: undecided
// expect sc assertions: undecided

max_value 3;
atomic a[1], x;

thread t[2] {
    local r;
    r = FADD(x, 1, acq, rel);
    if (r == 1) {
        a[t].store(1, rlx);
    }
}

// A queue of threads, each of which names the one before it, and with its name its element of `go`. To exchange
// two threads is to exchange their names and their elements, too. The assertion tells one name from the
// others, so it must be seen to fail for all threads that could stand behind the first.
//
// expect rc20 robustness: holds
// expect rc20 assertions: violated
// expect sc assertions: violated

max_value 4;
atomic last, go[3], seen;

thread t[3] {
    local before, s;
    before = exchange(last, t + 1, acq, rel);
    if (before != 0) {
        go[before - 1].store(1, rel);
    }
    s = FADD(seen, 1, acq, rel);
    assert(s != 2 || before != 1);
}

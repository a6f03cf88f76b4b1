// Each thread has a counter of its own. A search that makes numbers relative to one of them, the
// clock, must not exchange the threads: the other counter is not the clock.
// expect rc20 assertions: violated
// expect sc assertions: violated

atomic turn, c[2];

thread t[2] {
    local a, b;
    wait(turn, t, acq);
    b = FADD(c[1 - t], 0, rlx, rlx);
    a = FADD(c[t], 0, rlx, rlx);
    assume(a < 100);
    exchange(c[t], a + 2, rlx, rlx);
    a = FADD(c[t], 0, rlx, rlx);
    turn.store(1 - t, rel);
    assert(a != b);
}

// A stale value written by a compare-and-swap that succeeds only later.
//
// When the left thread comes to its CAS, x is still 0 and the CAS would fail, which uses no more than the expected
// value. But it waits its turn; the right thread then stores the 1 it expects, and what left read, perhaps stale,
// goes to x. So all registers of a CAS count as used, whatever x holds when its thread arrives.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
atomic x, y, z, arrived;

thread left {
    local r, s;
    y.store(1, rlx);
    r = z.load(rlx);
    arrived.store(1, rel);
    s = CAS(x, 1, r, rlx, rlx);
}

thread right {
    local r;
    z.store(1, rlx);
    r = y.load(rlx);
    wait(arrived, 1, acq);
    x.store(1, rlx);
}

// Store buffering with read-modify-writes in place of the stores.
//
// On x86 a locked instruction empties the store buffer, so this idiom is safe there (tso, pso: robust). In the
// C11 family an RMW is only an acquire load and a release store in one: the later load may still be stale.
// Code ported from x86 often trips here.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a;
    exchange(x, 1, acq, rel);
    a = y.load(acq);
    verify(a);
}

thread right {
    local a;
    exchange(y, 1, acq, rel);
    a = x.load(acq);
    verify(a);
}

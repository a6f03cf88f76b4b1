// A compare-and-swap that fails on a stale value.
//
// A failing CAS is a load, and this one may read the old 0 although the flag was seen. Its result is dropped,
// yet it counts: whether a CAS takes effect is visible to all, so its read is treated as used (compare obs-
// dropped-load, where a plain load is excused).
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
atomic x, y;

thread left {
    x.store(1, rlx);
    y.store(1, rel);
}

thread right {
    wait(y, 1, rlx);
    CAS(x, 1, 2, rlx, rlx);
}

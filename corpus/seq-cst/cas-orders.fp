// A CAS that is `seq_cst` when it succeeds and relaxed when it fails.
//
// Each thread announces itself by a CAS on its own flag and then looks at the other's. Nobody else writes the flags, so
// no CAS fails, and the order of a failure does not matter.
//
// expect sc assertions: holds
// expect rc11 robustness: holds
// expect rc20 robustness: violated

max_value 1;
atomic flag[2];

thread t[2] {
    local ok, other;
    ok = CAS(flag[t], 0, 1, sc, sc, rlx);
    other = flag[1 - t].load(sc);
    verify(ok + other);
}

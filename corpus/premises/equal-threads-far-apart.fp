// Two equal threads whose locations `go[0]` and `go[1]` have the numbers 510 and 511, and `last` has 255. A set of locations that takes
// 511 and 255 for one says that the second thread may still use `last` where the first may not. What is forgotten of a state must
// be the same as of its image, or a run of representatives cannot be followed.
//
// expect rc11 robustness: holds
// expect rc20 robustness: holds
// expect ra robustness: holds

max_value 4;
atomic x, pad[254], last, more[254], go[2];

thread t[2] {
    local o;
    last.store(o, rel);
    o = CAS(last, t + 1, 0, acq, rlx);
    wait(go[t], 1, rlx);
}

// Store buffering with read-modify-writes everywhere.
//
// If every access to x and y is an RMW, each location is one chain of updates. A cycle would need a chain link
// to point backwards, which acquire-release RMWs forbid: the program is robust without any fence.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 1;
atomic x, y;

thread left {
    local a;
    exchange(x, 1, acq, rel);
    a = FADD(y, 0, acq, rel);
    verify(a);
}

thread right {
    local a;
    exchange(y, 1, acq, rel);
    a = FADD(x, 0, acq, rel);
    verify(a);
}

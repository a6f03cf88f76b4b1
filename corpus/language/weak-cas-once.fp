// Whoever thinks that a weak CAS on a location nobody else touches must succeed is wrong.
// expect rc20 assertions: violated
global x;
thread t {
    local ok;
    ok = weak_CAS(x, 0, 1, acq, rel);
    assert(ok);
}

// Store buffering with two locations whose numbers are 0 and 256. A set of locations that confuses the two may say that one of
// them is still used when the other is, but taking one of them out must not take out the other.
//
// expect rc11 robustness: violated
// expect rc20 robustness: violated
// expect ra robustness: violated

max_value 1;
atomic x, pad[255], y;

thread a { local r; x.store(1, rlx); r = y.load(rlx); }
thread b { local r; y.store(1, rlx); r = x.load(rlx); }

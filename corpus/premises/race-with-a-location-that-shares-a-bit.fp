// A relaxed store publishes nothing, so the plain accesses of `d` race. The flag has number 0, and `d` has 512; who rests before its
// load of the flag still uses `d`.
//
// expect rc11 races: violated

max_value 1;
atomic f, pad[511];
na d;

thread a { d.nastore(1); f.store(1, rlx); }
thread b { local r, s; r = f.load(acq); if (r == 1) { s = d.naload(); } }

// Workers take items from an array and add up what they find.
//
// A shared index hands out items by relaxed FADD, so no two workers get the same item. Partial sums are non-
// atomic and collected after an acquire of each worker's flag.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 7;
const ITEMS = 3;
atomic next, finished[2];
na taken[ITEMS], sum[2];

thread worker[2] {
    local i, s, v;
    i = FADD(next, 1, rlx, rlx);
    while (i < ITEMS) {
        v = taken[i].naload();
        assert(v == 0);
        taken[i].nastore(1);
        s = s + i + 1;
        i = FADD(next, 1, rlx, rlx);
    }
    sum[worker].nastore(s);
    finished[worker].store(1, rel);
}

thread main {
    local a, b;
    wait(finished[0], 1, acq);
    wait(finished[1], 1, acq);
    a = sum[0].naload();
    b = sum[1].naload();
    assert(a + b == 6);
}

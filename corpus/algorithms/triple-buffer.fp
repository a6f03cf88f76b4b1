// Triple buffer: the newest picture, never torn.
//
// Writer and reader each own a buffer and swap it with the one in the middle by exchange. Since every access
// to `middle` is an acquire-release RMW, ownership of a buffer and knowledge of its contents travel together.
// Bit 2 of `middle` says that it holds something new.
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
const FRESH = 4;
atomic middle = 1;
na low[3], high[3];

thread writer {
    local mine, r, k;
    while (k < 3) {
        k = k + 1;
        low[mine].nastore(k);
        high[mine].nastore(k);
        r = exchange(middle, mine + FRESH, acq, rel);
        mine = r % FRESH;
    }
}

thread reader {
    local mine, r, a, b, k;
    mine = 2;
    while (k < 3) {
        k = k + 1;
        r = exchange(middle, mine, acq, rel);
        mine = r % FRESH;
        a = low[mine].naload();
        b = high[mine].naload();
        assert(a == b);
    }
}

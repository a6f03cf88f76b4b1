// Expressions have C's precedence.
//
// `c & 1 == 1` is c & (1 == 1), which happens to test the lowest bit; `c & 2 == 2` is c & (2 == 2), the lowest
// bit again and not the second. The parentheses of the last assertion are needed.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 7;
atomic x = 2;

thread t {
    local c;
    c = x.load(rlx);
    assert(!(c & 1 == 1));
    assert(!(c & 2 == 2));
    assert((c & 2) == 2);
    assert(1 + c * 2 == 5 && 7 - 2 - 1 == 4);
}

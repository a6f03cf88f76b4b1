// Arithmetic wraps at max_value.
//
// Values are 0 … max_value and arithmetic is modulo max_value + 1: four increments of a two-bit counter bring
// it back to 0, and -1 is 3. A run that wraps is reported once, as a warning.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic count;

thread t[2] {
    local r;
    FADD(count, 1, rlx, rlx);
    FADD(count, 1, rlx, rlx);
}

thread check {
    local r;
    r = 3;
    r = r + 1;
    assert(r == 0);
    r = r - 1;
    assert(r == 3);
    r = count.load(rlx);
    assert(r <= 3);
}

// Store buffering with relaxed accesses.
//
// Each thread announces itself and then looks whether the other has. Interleaving lets at least one of them
// see the other; weak memory lets both read 0, because neither store has to be visible yet. Both loads matter:
// their results are used, so the program is not even observationally robust.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 1;
atomic x, y;

thread left {
    local a;
    x.store(1, rlx);
    a = y.load(rlx);
    verify(a);
}

thread right {
    local a;
    y.store(1, rlx);
    a = x.load(rlx);
    verify(a);
}

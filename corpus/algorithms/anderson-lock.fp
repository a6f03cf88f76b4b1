// Anderson's array lock, three threads.
//
// A ticket lock in which every ticket waits on a slot of its own; the owner resets its slot and opens the
// next. Slots are reused every N tickets, so a stale "open" of the last lap must be impossible; acquire-
// release tickets see to that.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 2;
const N = 3;
atomic next, first = 1, open[N];
na cs;

thread t[N] {
    local ticket, r;
    while (true) {
        ticket = FADD(next, 1, acq, rel);      // modulo max_value + 1 == N
        if (ticket == 0) {
            // slot 0 starts open: the very first ticket takes `first` instead of waiting
            r = exchange(first, 0, acq, rel);
            if (r == 0) {
                wait(open[0], 1, acq);
            }
        } else {
            wait(open[ticket], 1, acq);
        }
        open[ticket].store(0, rlx);

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        open[(ticket + 1) % N].store(1, rel);
    }
}

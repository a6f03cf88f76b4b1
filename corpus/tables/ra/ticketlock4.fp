// Ticket lock, four threads.
//
// Acquire-release tickets, so that wrapping of the two counters does no harm.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
atomic next, serving, cs;

thread t[4] {
    local ticket, r;
    while (true) {
        ticket = FADD(next, 1, acq, rel);
        wait(serving, ticket, acq);

        // critical section
        cs.store(t, rel);
        r = cs.load(acq);
        assert(r == t);

        serving.store(ticket + 1, rel);
    }
}

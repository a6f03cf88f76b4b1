// Ticket lock, four threads, tickets that wrap around.
//
// With acquire-release on the FADD a new ticket brings knowledge of all earlier critical sections, so wrapped
// tickets are safe: five values suffice for four threads. The symmetry of the replicas is worth a factor 24.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 4;
atomic next, serving;
na cs;

thread t[4] {
    local ticket, r;
    while (true) {
        ticket = FADD(next, 1, acq, rel);
        wait(serving, ticket, acq);

        // critical section
        cs.nastore(1);
        r = cs.naload();
        assert(r == 1);
        cs.nastore(0);

        serving.store(ticket + 1, rel);
    }
}

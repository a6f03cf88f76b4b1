// Ticket lock, three threads, a fixed number of rounds.
//
// Draw a ticket by a relaxed FADD, wait until it is served, serve the next. The ticket needs no ordering,
// because the acquiring wait on `serving` provides it, as long as tickets do not wrap (see ticket-lock-wrap).
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
const ROUNDS = 2;
atomic next, serving;
na cs;

thread t[3] {
    local round, ticket, r;
    while (round < ROUNDS) {
        ticket = FADD(next, 1, rlx, rlx);
        wait(serving, ticket, acq);

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        serving.store(ticket + 1, rel);
        round = round + 1;
    }
}

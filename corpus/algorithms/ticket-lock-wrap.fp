// Ticket lock whose relaxed tickets wrap around.
//
// Tickets are modulo 4. After four rounds of one thread the other may draw ticket 0 and still read the initial
// `serving` == 0: it enters the critical section without having synchronized with anybody. With enough bits
// the wrap is out of reach; an acquire-release FADD (ticket-lock-4) removes it for any width.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic next, serving;
na cs;

thread t[2] {
    local ticket, r;
    while (true) {
        ticket = FADD(next, 1, rlx, rlx);
        wait(serving, ticket, acq);

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        serving.store(ticket + 1, rel);
    }
}

// CLH queue lock, three threads.
//
// Each thread waits on the node of its predecessor and takes that node over for its next turn. Nodes change
// hands, so their numbers are data; tail starts at a spare node that is not locked.
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
const N = 3;
atomic tail = N, locked[N + 1];
na cs;

thread t[N] {
    local mine, pred, r;
    mine = t;
    while (true) {
        locked[mine].store(1, rlx);
        pred = exchange(tail, mine, acq, rel);
        wait(locked[pred], 0, acq);

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        locked[mine].store(0, rel);
        mine = pred;
    }
}

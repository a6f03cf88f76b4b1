// Lamport's bakery, two customers, fenced.
//
// Fences after each of the three stores of the doorway, and between waiting for a customer to choose and
// reading its number.
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
const N = 2;
const ROUNDS = 2;
atomic choosing[N], number[N];
na cs;

thread t[N] {
    local round, top, m, j, r;
    while (round < ROUNDS) {
        // take a number larger than all I see
        choosing[t].store(1, rel);
        fence(sc);
        top = 0;
        j = 0;
        while (j < N) {
            m = number[j].load(acq);
            if (m > top) {
                top = m;
            }
            j = j + 1;
        }
        number[t].store(top + 1, rel);
        fence(sc);
        choosing[t].store(0, rel);
        fence(sc);
        top = top + 1;

        // let everybody with a smaller number (or the same and a smaller name) go first
        j = 0;
        while (j < N) {
            if (j != t) {
                wait(choosing[j], 0, acq);
                fence(sc);
                m = number[j].load(acq);
                while (m != 0 && (m < top || (m == top && j < t))) {
                    m = number[j].load(acq);
                }
            }
            j = j + 1;
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        number[t].store(0, rel);
        round = round + 1;
    }
}

// Lamport's bakery, three customers, fenced.
//
// One visit each is enough for numbers up to 3; the state space is large because every customer reads
// everybody's number while the others move. With three of them, fences between the reads are needed as well
// (see burns-3-store-fences).
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
const N = 3;
const ROUNDS = 1;
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
            fence(sc);
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
                fence(sc);
                while (m != 0 && (m < top || (m == top && j < t))) {
                    m = number[j].load(acq);
                    fence(sc);
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

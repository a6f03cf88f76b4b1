// Lamport's bakery, two customers, no fences.
//
// Customers draw numbers and are served in order. Both may draw number 1 without seeing the other's, or miss
// that the other is choosing: the bakery is store buffering with a queue. ROUNDS bounds the numbers.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

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
        choosing[t].store(0, rel);
        top = top + 1;

        // let everybody with a smaller number (or the same and a smaller name) go first
        j = 0;
        while (j < N) {
            if (j != t) {
                wait(choosing[j], 0, acq);
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

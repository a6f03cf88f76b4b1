// Lamport's bakery, three customers, a fence after every store.
//
// One visit each is enough for numbers up to 3. As with burns-3-store-fences, fences after the stores satisfy
// TSO and PSO, while RC20 and RA let a customer look at two others in an order that contradicts what a third
// one saw. The smallest witness is deep: several hundred thousand states are not unusual before it is found.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
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

// Burns's one-bit mutual exclusion, three threads, a fence after every store.
//
// Enough for TSO and PSO, where the only weakness is that a thread's own stores come late. RC20 and RA also
// let two observers disagree on the order of other threads' stores (as in iriw-ra): a thread looks at two
// flags in a row, and the third thread may know less than what it saw.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
const N = 3;
atomic flag[N];
na cs;

thread t[N] {
    local f, j, r;
    while (true) {
        retry:
        flag[t].store(0, rel);
        fence(sc);
        j = 0;
        while (j < t) {
            wait(flag[j], 0, acq);
            fence(sc);
            j = j + 1;
        }
        flag[t].store(1, rel);
        fence(sc);
        j = 0;
        while (j < t) {
            f = flag[j].load(acq);
            if (f == 1) goto retry;
            j = j + 1;
        }
        j = t + 1;
        while (j < N) {
            wait(flag[j], 0, acq);
            j = j + 1;
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        flag[t].store(0, rel);
    }
}

// Burns's one-bit mutual exclusion, three threads, fenced.
//
// Threads give way to those with smaller numbers and wait for those with larger ones. A fence after every
// store to a flag, and between any two looks at flags: then all threads agree on what they saw.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
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
            fence(sc);
            j = j + 1;
        }
        j = t + 1;
        while (j < N) {
            wait(flag[j], 0, acq);
            fence(sc);
            j = j + 1;
        }

        // critical section
        cs.nastore(t);
        r = cs.naload();
        assert(r == t);

        flag[t].store(0, rel);
    }
}

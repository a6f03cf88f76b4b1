// Burns's one-bit mutual exclusion, two threads, no fences.
//
// One flag per thread and nothing else. Thread 0 insists, thread 1 gives way; without a fence between raising
// the own flag and looking at the other's, both pass.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 2;
const N = 2;
atomic flag[N];
na cs;

thread t[N] {
    local f, j, r;
    while (true) {
        retry:
        flag[t].store(0, rel);
        j = 0;
        while (j < t) {
            wait(flag[j], 0, acq);
            j = j + 1;
        }
        flag[t].store(1, rel);
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

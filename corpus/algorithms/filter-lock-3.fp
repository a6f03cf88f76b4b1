// Peterson's filter lock, three threads.
//
// Peterson's algorithm generalized: two levels, at each of which one victim is left waiting. A fence after
// every store satisfies TSO and PSO; RC20 and RA would also need fences between the loads of the waiting loop.
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
atomic level[N], victim[N];
na cs;

thread t[N] {
    local l, j, m, w, r;
    l = 1;
    while (l < N) {
        level[t].store(l, rel);
        fence(sc);
        victim[l].store(t + 1, rel);
        fence(sc);
        // wait while somebody else is at my level or above and I am the victim
        j = 0;
        while (j < N) {
            if (j != t) {
                m = level[j].load(acq);
                w = victim[l].load(acq);
                while (m >= l && w == t + 1) {
                    m = level[j].load(acq);
                    w = victim[l].load(acq);
                }
            }
            j = j + 1;
        }
        l = l + 1;
    }

    // critical section
    cs.nastore(t);
    r = cs.naload();
    assert(r == t);

    level[t].store(0, rel);
}

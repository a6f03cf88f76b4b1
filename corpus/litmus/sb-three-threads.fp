// Store buffering around a ring of three threads.
//
// Replica number i raises flag i and looks at its neighbour's. The cycle store, load, store, load … now runs
// through three threads and three locations; the cause is the same as with two.
//
// expect sc assertions: holds
// expect rc20 robustness: violated
// expect rc20 observational-robustness: violated
// expect ra robustness: violated
// expect ra observational-robustness: violated
// expect tso robustness: violated
// expect pso robustness: violated

max_value 3;
const N = 3;
atomic flag[N];

thread t[N] {
    local a;
    flag[t].store(1, rel);
    a = flag[(t + 1) % N].load(acq);
    verify(a);
}

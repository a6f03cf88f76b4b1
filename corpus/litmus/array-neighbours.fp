// Every replica passes its value to the next slot of a ring.
//
// Replica i writes slot i and waits for slot i-1, indices modulo the ring. Each hand-over is its own release-
// acquire pair.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 7;
const N = 3;
atomic data[N], ready[N];

thread t[N] {
    local d;
    data[t].store(t + 1, rlx);
    ready[t].store(1, rel);
    wait(ready[(t + N - 1) % N], 1, acq);
    d = data[(t + N - 1) % N].load(rlx);
    assert(d == (t + N - 1) % N + 1);
}

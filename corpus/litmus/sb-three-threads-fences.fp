// Store buffering around a ring of three threads, with SC fences.
//
// The repair scales: one fence between store and load in every replica. All SC fences are ordered among
// themselves, so the ring cannot close.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
const N = 3;
atomic flag[N];

thread t[N] {
    local a;
    flag[t].store(1, rlx);
    fence(sc);
    a = flag[(t + 1) % N].load(rlx);
    verify(a);
}

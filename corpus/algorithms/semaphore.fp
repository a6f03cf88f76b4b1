// Counting semaphore with two permits for three threads.
//
// Taking a permit is a CAS that goes down, giving it back an FADD that goes up. `inside` is what the semaphore
// bounds; it is atomic, for two threads may be inside at once.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 3;
atomic permits = 2, inside;

thread t[3] {
    local p, r, n;
    while (true) {
        p = wait(permits, 1, 2, rlx);
        r = CAS(permits, p, p - 1, acq, rlx);
        if (r == p) {
            n = FADD(inside, 1, rlx, rlx);
            assert(n < 2);
            FADD(inside, -1, rlx, rlx);
            FADD(permits, 1, rlx, rel);
        }
    }
}

// Rust's Arc: three threads pass handles around, clone and drop them.
//
// Clones are relaxed, drops release, the last drop acquires by a fence. What makes it robust is that relaxed
// RMWs continue release sequences: the last owner acquires every earlier drop, whoever came in between. Thread
// 0 starts with the only handle; a mailbox holds at most one.
//
// expect sc assertions: holds
// expect rc20 robustness: holds
// expect rc20 observational-robustness: holds
// expect rc20 races: holds
// expect ra robustness: holds
// expect ra observational-robustness: holds
// expect tso robustness: holds
// expect pso robustness: holds

max_value 9;
const N = 3;
atomic strong = 1, mail[N];
na object = 1;

thread t[N] {
    local have, r;
    if (t == 0) {
        have = 1;
    }
    while (true) {
        if (have) {
            oneof({
                // clone for the next thread
                FADD(strong, 1, rlx, rlx);
                BCAS(mail[(t + 1) % N], 0, 1, rlx, rel);
            }{
                // use
                r = object.naload();
                assert(r == 1);
            }{
                // drop
                r = FADD(strong, -1, rlx, rel);
                if (r == 1) {
                    fence(acq);
                    object.nastore(0);
                }
                have = 0;
            });
        } else {
            BCAS(mail[t], 1, 0, acq, rlx);
            have = 1;
        }
    }
}

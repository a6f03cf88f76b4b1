// Sense-reversing barrier, three threads.
//
// The last to arrive resets the counter and flips the sense; the others wait for the flip. Arrivals form a
// release sequence of acquire-release RMWs, so the last one knows all cells, and the flip tells everybody.
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
const PHASES = 2;
atomic arrived, sense;
na data[N];

thread t[N] {
    local phase, mine, a, v;
    while (phase < PHASES) {
        // work of this phase: write my own cell
        data[t].nastore(phase + 1);

        // barrier
        mine = 1 - mine;
        a = FADD(arrived, 1, acq, rel);
        if (a == N - 1) {
            arrived.store(0, rlx);
            sense.store(mine, rel);
        } else {
            wait(sense, mine, acq);
        }

        // after it: everybody's cell is of this phase
        v = data[(t + 1) % N].naload();
        assert(v == phase + 1);

        // second barrier, before the cells are written again
        mine = 1 - mine;
        a = FADD(arrived, 1, acq, rel);
        if (a == N - 1) {
            arrived.store(0, rlx);
            sense.store(mine, rel);
        } else {
            wait(sense, mine, acq);
        }
        phase = phase + 1;
    }
}

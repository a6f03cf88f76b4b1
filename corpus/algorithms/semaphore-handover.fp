// Semaphores as buffer space and buffer content.
//
// A one-place buffer between producers and a consumer: `room` and `items` count down by BCAS and up by release
// stores. The buffer itself is non-atomic.
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
atomic room = 1, items;
na buffer;

thread producer[2] {
    while (true) {
        BCAS(room, 1, 0, acq, rlx);
        buffer.nastore(producer + 1);
        items.store(1, rel);
    }
}

thread consumer {
    local v;
    while (true) {
        BCAS(items, 1, 0, acq, rlx);
        v = buffer.naload();
        assert(v == 1 || v == 2);
        buffer.nastore(0);
        room.store(1, rel);
    }
}

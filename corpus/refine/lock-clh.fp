// The queue lock of Craig, Landin and Hagersten: wait for the node of whoever came before, then take it over.
max_value 3;

spec lock {
    atomic l;
    method lock(me)   { acquire(l); return(); }
    method unlock(me) { release(l); return(); }
}

library lock {
    atomic busy[3], tail = 2;         // nodes; the last one in the queue
    atomic mine[2] = {0, 1}, before[2];   // each thread's node, and the one it waited for

    method lock(me) {
        local node, pred;
        node = mine[me].load(rlx);
        busy[node].store(1, rlx);
        pred = exchange(tail, node, acq, rel);
        before[me].store(pred, rlx);
        wait(busy[pred], 0, acq);
        return();
    }

    method unlock(me) {
        local node, pred;
        node = mine[me].load(rlx);
        pred = before[me].load(rlx);
        mine[me].store(pred, rlx);
        busy[node].store(0, rel);
        return();
    }
}

client {
    thread t[2] { while (1) { lock(t); unlock(t); } }
}

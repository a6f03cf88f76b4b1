// Each round in which `spin` waits reads x, and races with `put`, whose store comes later, in no order with it. So a round that
// leads back to where the loop began is not without effect.
max_value 2;

spec cell {
    atomic x, g;
    method put() { x.store(2, rel); return(); }
    method done() { g.store(1, rel); return(); }
    method spin() {
        local a, b;
    AGAIN:
        b = g.load(acq);
        if (b != 1) {
            a = x.load(acq);
            goto AGAIN;
        }
        return();
    }
}

library cell {
    na x;
    atomic g;
    method put() { x.nastore(2); return(); }
    method done() { g.store(1, rel); return(); }
    method spin() {
        local a, b;
    AGAIN:
        b = g.load(acq);
        if (b != 1) {
            a = x.naload();
            goto AGAIN;
        }
        return();
    }
}

client {
    thread a { put(); done(); }
    thread b { spin(); }
}

// The semaphore looks and takes in two steps: two threads may get in where there is room for one.
max_value 3;

spec semaphore {
    atomic l, free = 1;
    method down() {
        local n;
        AGAIN:
        acquire(l);
        n = free.load(rlx);
        if (n == 0) { release(l); goto AGAIN; }
        free.store(n - 1, rlx);
        release(l);
        return();
    }
    method up() {
        local n;
        acquire(l);
        n = free.load(rlx);
        free.store(n + 1, rlx);
        release(l);
        return();
    }
}

library semaphore {
    atomic free = 1;
    method down() {
        local n;
        AGAIN:
        n = free.load(acq);
        if (n == 0) goto AGAIN;
        free.store(n - 1, rel);
        return();
    }
    method up() { FADD(free, 1, acq, rel); return(); }
}

client { thread t[2] { while (1) { down(); up(); } } }

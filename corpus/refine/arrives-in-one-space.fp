// What reaches a thread for one space need not have reached it for another. Once the return of `set` has reached the thread
// of `get` for the library's own space, the specification's `get` reads 1, and learns of `set` for the client's space, too;
// the library's `get` does not. The value that is read is of no importance, and still the specification's read is not always one
// of the newest write, so a search with markers on demand would not show enough.
max_value 1;

spec flag {
    atomic y;

    method get() { local r; r = y.load(acq); return(); }
    method set() { y.store(1, rel); return(); }
}

library flag {
    atomic y;

    method get() { local r; r = y.load(pacq); return(); }
    method set() { y.store(1, rel); return(); }
}

client { policy thread_per_method; }

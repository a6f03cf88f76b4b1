// Local data-race freedom (section 8.3): who calls under a readers-writer lock cannot tell a plain
// variable from one with release and acquire accesses.
max_value 1;

spec variable {
    atomic x;
    method put(v) { x.store(v, rel); return(); }
    method get()  { local a; a = x.load(acq); return(a); }
}

library variable {
    na x;
    method put(v) { x.nastore(v); return(); }
    method get()  { local a; a = x.naload(); return(a); }
}

client { policy readers_writer(2) write put; }

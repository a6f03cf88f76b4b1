// The plain variable of local-drf.fp under a client that holds no lock: a race.
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

client { policy free(2); }

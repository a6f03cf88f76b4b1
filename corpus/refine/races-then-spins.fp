// A non-atomic write, which races, and a loop for ever.
max_value 1;

spec cell {
    na d;
    method hang() { while (1) { } return(); }
    method take() { local r; r = d.naload(); d.nastore(0); return(r); }
}

library cell {
    na d;
    method hang() { d.nastore(1); while (1) { } return(); }
    method take() { local r; r = d.naload(); d.nastore(0); return(r); }
}

client { policy thread_per_method; }

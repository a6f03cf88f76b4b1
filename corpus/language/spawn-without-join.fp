// The parent looks at what the child leaves without waiting for its end.
// expect rc20 races: violated
na output;
thread main { local r;  spawn worker;  r = output.naload(); }
thread worker { output.nastore(1); }

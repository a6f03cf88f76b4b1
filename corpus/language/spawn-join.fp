// A parent fills a buffer, starts two workers and reads what they left: spawn and join order it all, so plain
// accesses do not race.
// expect rc20 robustness: holds
// expect rc20 races: holds
// expect rc20 assertions: holds
na input = 0, output[2];
thread main {
    local i, sum, r;
    input.nastore(3);
    for (i = 0; i < 2; i = i + 1) { spawn worker[i]; }
    join worker[0];
    join worker[1];
    for (i = 0; i < 2; i = i + 1) { r = output[i].naload(); sum = sum + r; }
    assert(sum == 7);
}
thread worker[2] {
    local r;
    r = input.naload();
    output[worker].nastore(r + worker);
}

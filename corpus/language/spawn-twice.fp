// Both parents start the same child.
// expect rc20 assertions: violated
thread parent[2] { spawn child; }
thread child { skip; }

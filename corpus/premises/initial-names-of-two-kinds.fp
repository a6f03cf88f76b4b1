// Threads take names from `name`, whose elements are exchanged along with the threads, and leave them in `seen`. The
// name that is there at first lets no exchange with the second thread keep the initial state, so that one renames
// less than the others, and exchanges compose to one that renames names and exchanges nobody. States then have more than one
// representative, and the run to where all threads wait must be found all the same.
//
// expect rc20 robustness: holds
// expect sc assertions: holds

max_value 7;
atomic name[3] = {0, 1, 2}, seen = 1, arrived;

thread t[3] {
    local p;
    p = name[t].load(rlx);
    seen.store(p, rel);
    FADD(arrived, 1, acq, rel);
    wait(arrived, 4, acq);
}

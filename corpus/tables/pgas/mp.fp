// Message passing: the flag may be seen before the data.
//
// expect tso robustness: holds
// expect pso robustness: violated
// expect pgas robustness: violated

global data, flag;

thread writer { data.store(1, rlx); flag.store(1, rlx); }

thread reader { local f, d; f = flag.load(rlx); d = data.load(rlx); }

// The left program after Theorem 2 of Enea and Farzan (TACAS 2016): without transactions, every access is one by itself.
// TSO does not order a thread's store and later load, so any execution is serializable, although the program is not
// robust: Theorem 2 has no converse.
//
// expect tso serializability: holds
// expect sc serializability: holds
// expect tso robustness: violated

global x, y;

thread left { local r; x.store(1, rlx); r = y.load(rlx); }

thread right { local r; y.store(1, rlx); r = x.load(rlx); }

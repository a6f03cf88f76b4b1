// The right program after Theorem 2 of Enea and Farzan (TACAS 2016): it is robust, but the accesses of `one` may come
// between those of `two`, in which case no interleaving puts `two` before or after both. TSO does not order the accesses
// of `one`, so the load may be taken to come first and the store last: TSO-serializable all the same.
//
// expect tso serializability: holds
// expect sc serializability: violated
// expect tso robustness: holds

global x, y;

thread one { local r; x.store(1, rlx); r = y.load(rlx); }

thread two { local r; atomic { r = x.load(rlx); y.store(1, rlx); } }

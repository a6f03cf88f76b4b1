// A client that does not keep to the policy: it enters twice.
client {
    thread writer { synchronize(); }
    thread reader { read_lock(0); read_lock(0); }
}

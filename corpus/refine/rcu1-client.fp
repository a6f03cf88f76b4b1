// One writer, and 1 reader that enter and leave.
client {
    thread writer { while (1) { synchronize(); } }
    thread reader[1] { while (1) { read_lock(reader); read_unlock(reader); } }
}

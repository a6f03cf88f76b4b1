// One writer, and 2 readers that enter and leave.
client {
    thread writer { while (1) { synchronize(); } }
    thread reader[2] { while (1) { read_lock(reader); read_unlock(reader); } }
}

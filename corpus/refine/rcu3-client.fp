// One writer, and 3 readers that enter and leave.
client {
    thread writer { while (1) { synchronize(); } }
    thread reader[3] { while (1) { read_lock(reader); read_unlock(reader); } }
}

// A `HashMap` behind a lock: its groups of bytes are compared at once.
// fencepost: races holds, assertions holds
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let map = Arc::new(Mutex::new(HashMap::new()));
    let theirs = map.clone();
    let thread = thread::spawn(move || {
        theirs.lock().unwrap().insert(1, 2);
    });
    map.lock().unwrap().insert(2, 3);
    thread.join().unwrap();
    let map = map.lock().unwrap();
    assert!(map.len() == 2 && map[&1] == 2 && map[&2] == 3);
}

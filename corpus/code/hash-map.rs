// A map that two threads share, with its lock.
// fencepost: assertions holds
// fencepost --cfg broken: assertions violated
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let map = Arc::new(Mutex::new(HashMap::new()));
    let other = map.clone();
    let thread = thread::spawn(move || {
        other.lock().unwrap().insert(1, 2);
    });
    map.lock().unwrap().insert(2, 3);
    #[cfg(not(broken))]
    thread.join().unwrap();
    assert_eq!(map.lock().unwrap().len(), 2);
    #[cfg(broken)]
    thread.join().unwrap();
}

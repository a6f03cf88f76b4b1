// Every thread has a `HashMap` of its own, which compares groups of bytes at once.
// fencepost: assertions holds
// fencepost --cfg broken: assertions violated
use std::collections::HashMap;
use std::thread;

fn main() {
    let thread = thread::spawn(|| {
        let mut map = HashMap::new();
        for key in 0..5 {
            map.insert(key, 2 * key);
        }
        assert!(map[&3] == if cfg!(broken) { 7 } else { 6 });
        map.remove(&3);
        assert!(map.len() == 4 && !map.contains_key(&3));
    });
    let mut map = HashMap::new();
    map.insert("one", 1);
    assert!(map.get("one") == Some(&1) && map.get("two").is_none());
    thread.join().unwrap();
}

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

struct Shared {
    hits: AtomicUsize,
    list: Mutex<Vec<u32>>,
}

static TOTAL: AtomicUsize = AtomicUsize::new(3);

fn work(shared: &Shared, n: u32) {
    shared.hits.fetch_add(1, Ordering::AcqRel);
    shared.list.lock().unwrap().push(n);
    TOTAL.fetch_add(1, Ordering::Relaxed);
}

fn main() {
    let shared = Arc::new(Shared { hits: AtomicUsize::new(0), list: Mutex::new(Vec::new()) });
    let threads: Vec<_> = (0..2)
        .map(|n| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared, n))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(shared.hits.load(Ordering::SeqCst), 2);
}

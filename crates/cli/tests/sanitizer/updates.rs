// A counter and a lock that are updated by compare-and-swaps which may fail on a stale value; with --cfg=leak
// something else depends on the value, and with --cfg=strong the lock is tried once.
use std::sync::atomic::{AtomicU32, Ordering::*};

static COUNTERS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static LOCKS: [AtomicU32; 2] = [const { AtomicU32::new(1) }; 2];
static LEAKED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

#[inline(never)]
fn slow_path(lock: &AtomicU32) {
    while lock.load(Relaxed) != 0 || lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {}
}

fn count(me: usize) {
    COUNTERS[me].store(1, Relaxed);
    let mut old = COUNTERS[1 - me].load(Relaxed);
    if cfg!(leak) {
        LEAKED[me].store(old, Relaxed);
    }
    while let Err(newer) = COUNTERS[1 - me].compare_exchange(old, old + 2, Relaxed, Relaxed) {
        old = newer;
    }
}

fn lock(me: usize) {
    LOCKS[me].store(0, Release);
    let lock = &LOCKS[1 - me];
    if cfg!(strong) {
        if lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            return;
        }
    } else if lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        slow_path(lock);
    }
    lock.store(0, Release);
}

fn main() {
    let both = |run: fn(usize)| {
        let threads = [0, 1].map(|me| std::thread::spawn(move || run(me)));
        threads.map(|thread| thread.join().is_ok());
    };
    both(if cfg!(lock) { lock } else { count });
    println!("done {}", LEAKED[0].load(Relaxed) < 9);
}

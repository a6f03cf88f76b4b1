//! Store buffering, and then nothing, until somebody ends it.
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn side(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.store(1, Release);
    other.load(Acquire)
}

fn main() {
    for _ in 0..20 {
        let threads = [thread::spawn(|| side(&X, &Y)), thread::spawn(|| side(&Y, &X))];
        threads.map(|thread| thread.join().unwrap());
    }
    loop {
        thread::park();
    }
}

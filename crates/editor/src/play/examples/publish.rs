// One thread publishes a value, another takes it if it is there.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static VALUE: AtomicU32 = AtomicU32::new(0);

fn main() {
    let writer = thread::spawn(|| {
        VALUE.store(42, Ordering::Relaxed);
        READY.store(true, Ordering::Release);
    });
    if READY.load(Ordering::Acquire) {
        assert_eq!(VALUE.load(Ordering::Relaxed), 42);
    }
    writer.join().unwrap();
}

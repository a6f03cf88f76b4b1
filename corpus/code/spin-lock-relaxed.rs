// Giving the lock back publishes nothing.
// fencepost: races violated
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Memory that anybody may write.
struct Bare<T>(UnsafeCell<T>);

unsafe impl<T> Sync for Bare<T> {}

impl<T> Bare<T> {
    const fn new(value: T) -> Self {
        Bare(UnsafeCell::new(value))
    }

    fn get(&self) -> *mut T {
        self.0.get()
    }
}

static L: AtomicBool = AtomicBool::new(false);
static D: Bare<u32> = Bare::new(0);
fn main() {
    let a = thread::spawn(|| {
        while L
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {}
        unsafe { *D.get() += 1 }
        L.store(false, Ordering::Relaxed);
    });
    let b = thread::spawn(|| {
        while L
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {}
        unsafe { *D.get() += 1 }
        L.store(false, Ordering::Relaxed);
    });
    a.join().unwrap();
    b.join().unwrap();
    assert_eq!(unsafe { *D.get() }, 2);
}

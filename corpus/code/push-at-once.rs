// Two threads push to one vector.
// fencepost: races violated
use std::cell::UnsafeCell;
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

static D: Bare<Vec<u32>> = Bare::new(Vec::new());
fn main() {
    let a = thread::spawn(|| unsafe { (*D.get()).push(1) });
    let b = thread::spawn(|| unsafe { (*D.get()).push(2) });
    a.join().unwrap();
    b.join().unwrap();
}

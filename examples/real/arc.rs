// Shared ownership by a reference count, as `std::sync::Arc` does it (after "Rust Atomics and Locks", chapter 6). The last
// owner must see what the others did to the value before it frees it. With `--cfg broken`, letting go does not release.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: races violated

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;

const LET_GO: Ordering = if cfg!(broken) { Ordering::Relaxed } else { Ordering::Release };

struct Shared<T> {
    owners: AtomicUsize,
    value: T,
}

struct Arc<T> {
    shared: NonNull<Shared<T>>,
}

unsafe impl<T: Sync + Send> Send for Arc<T> {}

impl<T> Arc<T> {
    fn new(value: T) -> Self {
        let shared = Box::new(Shared { owners: AtomicUsize::new(1), value });
        Arc { shared: NonNull::from(Box::leak(shared)) }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        unsafe { &self.shared.as_ref().value }
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        unsafe { self.shared.as_ref() }.owners.fetch_add(1, Ordering::Relaxed);
        Arc { shared: self.shared }
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if unsafe { self.shared.as_ref() }.owners.fetch_sub(1, LET_GO) == 1 {
            fence(Ordering::Acquire);
            drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        }
    }
}

fn main() {
    let mine = Arc::new(7);
    let theirs = mine.clone();
    let thread = thread::spawn(move || assert_eq!(*theirs, 7));
    assert_eq!(*mine, 7);
    drop(mine);
    thread.join().unwrap();
}

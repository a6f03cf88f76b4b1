// A spin lock that hands out a guard, as crates such as `spin` do: the lock is free again when the guard goes out of
// scope. With `--cfg broken`, unlocking does not release: what was written under the lock may be seen after the lock is
// seen to be free.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: races violated

use std::cell::UnsafeCell;
use std::hint;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const UNLOCK: Ordering = if cfg!(broken) { Ordering::Relaxed } else { Ordering::Release };

struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

unsafe impl<T: Send> Sync for SpinLock<T> {}

struct Guard<'a, T> {
    lock: &'a SpinLock<T>,
}

impl<T> SpinLock<T> {
    const fn new(value: T) -> Self {
        SpinLock { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn lock(&self) -> Guard<'_, T> {
        while self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            while self.locked.load(Ordering::Relaxed) {
                hint::spin_loop();
            }
        }
        Guard { lock: self }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.lock.locked.store(false, UNLOCK);
    }
}

fn main() {
    let counter = SpinLock::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *counter.lock() += 1);
        }
    });
    assert_eq!(*counter.lock(), 2);
}

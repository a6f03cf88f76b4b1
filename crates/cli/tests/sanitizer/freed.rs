//! A reference count by hand: the last user frees the object, with a relaxed decrement, or (`fixed`) a proper one.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Object {
    users: AtomicUsize,
    data: u64,
}

struct Handle(*mut Object);
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let order = if cfg!(fixed) { Ordering::AcqRel } else { Ordering::Relaxed };
        unsafe {
            if (*self.0).users.fetch_sub(1, order) == 1 {
                drop(Box::from_raw(self.0));
            }
        }
    }
}

fn main() {
    let object = Box::into_raw(Box::new(Object { users: AtomicUsize::new(2), data: 7 }));
    let start = |handle: Handle| {
        thread::spawn(move || {
            let handle = handle;
            unsafe { std::ptr::read_volatile(&raw const (*handle.0).data) }
        })
    };
    let (a, b) = (start(Handle(object)), start(Handle(object)));
    println!("{}", a.join().unwrap() + b.join().unwrap());
}

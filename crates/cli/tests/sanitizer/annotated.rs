//! A lock whose order the sanitizer cannot see, and which the program explains to ThreadSanitizer; with `silent`, it explains nothing.
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;

unsafe extern "C" {
    fn __tsan_acquire(address: *mut c_void);
    fn __tsan_release(address: *mut c_void);
}

static WORD: AtomicU32 = AtomicU32::new(0);
static mut DATA: u32 = 0;

fn work() {
    let at = WORD.as_ptr().cast();
    for _ in 0..20 {
        while WORD.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err() {}
        unsafe {
            if !cfg!(silent) {
                __tsan_acquire(at);
            }
            DATA += 1;
            if !cfg!(silent) {
                __tsan_release(at);
            }
        }
        WORD.store(0, Relaxed);
    }
}

fn main() {
    [thread::spawn(work), thread::spawn(work)].map(|thread| thread.join().unwrap());
    println!("{}", unsafe { DATA });
}

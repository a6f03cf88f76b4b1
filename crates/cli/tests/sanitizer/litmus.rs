// Store buffering and message passing. fixed: with the orders that they need.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::*, fence};
use std::thread;

struct Plain(UnsafeCell<usize>);
unsafe impl Sync for Plain {}

static X: AtomicUsize = AtomicUsize::new(0);
static Y: AtomicUsize = AtomicUsize::new(0);
static FLAG: AtomicUsize = AtomicUsize::new(0);
static DATA: Plain = Plain(UnsafeCell::new(0));

fn store_buffering(mine: &AtomicUsize, other: &AtomicUsize) -> usize {
    mine.store(1, Release);
    if cfg!(fixed) {
        fence(SeqCst);
    }
    other.load(Acquire)
}

fn main() {
    if cfg!(mp) {
        let (write, read) = if cfg!(fixed) { (Release, Acquire) } else { (Relaxed, Relaxed) };
        let writer = thread::spawn(move || {
            unsafe { *DATA.0.get() = 7 };
            FLAG.store(1, write);
        });
        while FLAG.load(read) == 0 {}
        println!("{}", unsafe { *DATA.0.get() });
        writer.join().unwrap();
    } else {
        let first = thread::spawn(|| store_buffering(&X, &Y));
        let second = thread::spawn(|| store_buffering(&Y, &X));
        let sum = first.join().unwrap() + second.join().unwrap();
        println!("{sum}");
    }
}

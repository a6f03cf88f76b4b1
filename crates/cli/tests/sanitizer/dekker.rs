// Dekker's lock around a counter: release and acquire are not enough. fixed: with full fences.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use std::thread;

struct Plain(UnsafeCell<usize>);
unsafe impl Sync for Plain {}

static WANTS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
static TURN: AtomicUsize = AtomicUsize::new(0);
static DATA: Plain = Plain(UnsafeCell::new(0));

fn full_fence() {
    if cfg!(fixed) {
        fence(SeqCst);
    }
}

fn work(me: usize) {
    for _ in 0..20 {
        WANTS[me].store(true, Release);
        full_fence();
        while WANTS[1 - me].load(Acquire) {
            if TURN.load(Acquire) != me {
                WANTS[me].store(false, Release);
                full_fence();
                while TURN.load(Acquire) != me {}
                WANTS[me].store(true, Release);
                full_fence();
            }
        }
        unsafe { *DATA.0.get() += 1 };
        TURN.store(1 - me, Release);
        WANTS[me].store(false, Release);
        full_fence();
    }
    TURN.store(1 - me, Release);
}

fn main() {
    let threads = [0, 1].map(|me| thread::spawn(move || work(me)));
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{}", unsafe { *DATA.0.get() });
}

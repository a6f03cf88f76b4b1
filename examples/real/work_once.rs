// Two threads share results through the locks of the standard library: a value that is made once, a counter behind a
// mutex, a condition variable. With `--cfg broken`, the counter is read and written back under the lock, but not in one
// piece.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: assertions violated

use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

static STEP: OnceLock<u32> = OnceLock::new();

struct Progress {
    done: Mutex<u32>,
    changed: Condvar,
}

fn work(progress: &Progress) {
    let step = *STEP.get_or_init(|| 1);
    if cfg!(broken) {
        let done = *progress.done.lock().unwrap();
        *progress.done.lock().unwrap() = done + step;
    } else {
        *progress.done.lock().unwrap() += step;
    }
    progress.changed.notify_one();
}

fn main() {
    let progress = Arc::new(Progress { done: Mutex::new(0), changed: Condvar::new() });
    let theirs = Arc::clone(&progress);
    let thread = thread::spawn(move || work(&theirs));
    work(&progress);
    thread.join().unwrap();
    let mut done = progress.done.lock().unwrap();
    while *done == 0 {
        done = progress.changed.wait(done).unwrap();
    }
    assert_eq!(*done, 2);
}

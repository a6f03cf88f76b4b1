// One buffer that goes back and forth between a reader and a worker: a channel carries filled buffers to the worker, another
// brings empty ones back. What is sent is only the number of a buffer, so whose turn it is follows from the channels
// alone. With `--cfg broken`, the worker looks at its buffer once more after it has handed it back. The two run for
// ever, and all their states are seen.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: races violated

use std::cell::UnsafeCell;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

struct Buffers([UnsafeCell<u32>; 1]);

// SAFETY: a thread touches a buffer only between receiving its number and sending it on.
unsafe impl Sync for Buffers {}

static BUFFERS: Buffers = Buffers([UnsafeCell::new(0)]);

fn fill(empty: Receiver<usize>, filled: SyncSender<usize>) {
    for at in empty {
        unsafe { *BUFFERS.0[at].get() = 7 };
        filled.send(at).unwrap();
    }
}

fn work(filled: Receiver<usize>, empty: SyncSender<usize>) {
    for at in filled {
        let buffer = BUFFERS.0[at].get();
        assert_eq!(unsafe { *buffer }, 7);
        unsafe { *buffer = 0 };
        empty.send(at).unwrap();
        if cfg!(broken) {
            assert_ne!(unsafe { *buffer }, 1);
        }
    }
}

fn main() {
    let (empty, empties) = sync_channel(1);
    let (filled, fulls) = sync_channel(1);
    empty.send(0).unwrap();
    let worker = thread::spawn(move || work(fulls, empty));
    fill(empties, filled);
    worker.join().unwrap();
}

//! Threads that wait for each other in loops with several accesses: whoever goes on, somebody else must get a turn eventually. By default a
//! reader of a sequence lock; `writing` and `plain` wait in other ways, the last of them by a race.
use std::ptr::{read_volatile, write_volatile};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;

static SEQUENCE: AtomicU32 = AtomicU32::new(1);
static A: AtomicU32 = AtomicU32::new(0);
static B: AtomicU32 = AtomicU32::new(0);
static NOISE: AtomicU32 = AtomicU32::new(0);
static mut PLAIN: u32 = 0;

fn writer() {
    A.store(1, Release);
    B.store(1, Release);
    SEQUENCE.store(2, Release);
    unsafe { write_volatile(&raw mut PLAIN, 1) };
}

fn reader() {
    if cfg!(plain) {
        while unsafe { read_volatile(&raw const PLAIN) } == 0 {}
    } else if cfg!(writing) {
        while SEQUENCE.load(Acquire) & 1 != 0 {
            NOISE.fetch_add(1, Relaxed);
            A.load(Relaxed);
        }
    } else {
        loop {
            let before = SEQUENCE.load(Acquire);
            let both = (A.load(Acquire), B.load(Acquire));
            if before & 1 == 0 && SEQUENCE.load(Acquire) == before {
                assert_eq!(both.0, both.1);
                break;
            }
        }
    }
}

fn main() {
    let threads = [thread::spawn(reader), thread::spawn(writer)];
    println!("{}", threads.map(|thread| thread.join().map_or(0, |()| 1)).iter().sum::<u32>());
}

//! Two threads read a word, each in a function of its own, and then it is written, ordered with the second. The race is with the
//! first, and it is in that one's function that it is to be shown. With `bytes`, they write different bytes of the word.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;

static mut BYTES: [u8; 8] = [5; 8];
static TURN: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);
static MUTEX: Mutex<()> = Mutex::new(());

#[inline(always)]
fn access(index: usize) -> u32 {
    let place = &raw mut BYTES;
    unsafe {
        if cfg!(bytes) {
            place.cast::<u8>().add(index).write_volatile(7);
            1
        } else {
            place.cast::<u64>().cast::<u32>().read_unaligned()
        }
    }
}

#[inline(never)]
fn first() -> u32 {
    access(1)
}

#[inline(never)]
fn second() -> u32 {
    access(2)
}

#[inline(never)]
fn writer() {
    let place = &raw mut BYTES;
    unsafe { place.cast::<u8>().add(1).write_volatile(9) };
}

fn wait_for(turn: u32) {
    while TURN.load(Relaxed) != turn {
        thread::yield_now();
    }
}

fn main() {
    let culprit = thread::spawn(|| {
        SEEN.fetch_add(first(), Relaxed);
        TURN.store(1, Relaxed);
    });
    let innocent = thread::spawn(|| {
        wait_for(1);
        let held = MUTEX.lock().unwrap();
        SEEN.fetch_add(second(), Relaxed);
        drop(held);
        TURN.store(2, Relaxed);
    });
    wait_for(2);
    let held = MUTEX.lock().unwrap();
    writer();
    drop(held);
    culprit.join().unwrap();
    innocent.join().unwrap();
    println!("done");
}

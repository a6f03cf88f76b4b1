//! Two threads read a word again and again, each with a mutex of its own, so that every read is by an epoch that no other read has;
//! then one that writes it races with the last read. With `many`, there is a word for every read, and no race.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;

const ROUNDS: usize = 20_000;
static MUTEXES: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];
static mut WORDS: [u64; ROUNDS] = [0; ROUNDS];
static TURN: AtomicU32 = AtomicU32::new(0);

fn word(index: usize) -> *mut u64 {
    let words = &raw mut WORDS;
    unsafe { words.cast::<u64>().add(index) }
}

fn reader(me: usize) -> u64 {
    let mut sum = 0;
    for round in 0..ROUNDS {
        let _held = MUTEXES[me].lock().unwrap();
        sum += unsafe { word(if cfg!(many) { round } else { 0 }).read_volatile() };
    }
    TURN.fetch_add(1, Relaxed);
    sum
}

fn main() {
    let threads = [0, 1].map(|me| thread::spawn(move || reader(me)));
    if !cfg!(many) {
        while TURN.load(Relaxed) != 2 {}
        // Ordered with the first one only.
        let _held = MUTEXES[0].lock().unwrap();
        unsafe { word(0).write_volatile(1) };
    }
    println!("{}", threads.map(|thread| thread.join().unwrap()).len());
}

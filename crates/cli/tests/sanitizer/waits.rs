//! Two threads that wait for each other, in loops that read more than the flag: through a pointer and a field, with an index that is
//! computed (`ring`), or with pauses that grow (`backoff`). A stale flag makes them wait, and no harm is done. With `early`, a
//! stale flag ends the waiting, and that is reported.
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;
use std::time::Duration;

struct Side {
    want: u32,
    flag: AtomicU32,
    ring: [AtomicU32; 4],
}

const SIDE: Side = Side { want: 1, flag: AtomicU32::new(0), ring: [const { AtomicU32::new(0) }; 4] };
static SIDES: [Side; 2] = [SIDE; 2];

fn meet(me: usize) {
    SIDES[me].flag.store(1, Relaxed);
    SIDES[me].ring[1].store(1, Relaxed);
    let other = black_box(&SIDES[1 - me]);
    let done = |value: u32| if cfg!(early) { value == 0 } else { value == other.want };
    if cfg!(ring) {
        let (size, step) = black_box((4, 5));
        while !done(other.ring[(step * size + 1) % size].load(Relaxed)) {}
    } else if cfg!(backoff) {
        let mut delay = 1;
        while !done(other.flag.load(Relaxed)) {
            (0..delay).for_each(|_| spin_loop());
            delay = (2 * delay).min(64);
            if delay == 64 {
                thread::yield_now();
            }
        }
    } else {
        while !done(other.flag.load(Relaxed)) {}
    }
}

fn main() {
    let threads = [0, 1].map(|me| thread::spawn(move || meet(me)));
    if cfg!(early) {
        // Who finds the flag set waits for ever.
        thread::sleep(Duration::from_millis(200));
        println!("done");
        std::process::exit(0);
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("done");
}

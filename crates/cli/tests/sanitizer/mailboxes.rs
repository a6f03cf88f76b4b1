//! Mailboxes that come and go, each with a mutex, a condition variable and words that all threads read. What the runtime keeps of
//! one must go with it: peak memory after all rounds is compared with that after the first tenth.
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;

const READERS: usize = 3;
const ROUNDS: usize = 20_000;

#[derive(Default)]
struct Mailbox {
    words: Mutex<Vec<u64>>,
    filled: Condvar,
}

/// In megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn read(mailbox: &Mailbox) -> u64 {
    let mut words = mailbox.words.lock().unwrap();
    while words.is_empty() {
        words = mailbox.filled.wait(words).unwrap();
    }
    words.iter().sum()
}

fn main() {
    let current = Arc::new(Mutex::new(Arc::new(Mailbox::default())));
    let barrier = Arc::new(Barrier::new(READERS + 1));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (current, barrier) = (Arc::clone(&current), Arc::clone(&barrier));
            thread::spawn(move || {
                let mut sum = 0;
                for _ in 0..ROUNDS {
                    barrier.wait();
                    let mailbox = Arc::clone(&current.lock().unwrap());
                    sum += read(&mailbox);
                    drop(mailbox);
                    barrier.wait();
                }
                sum
            })
        })
        .collect();
    let mut early = 0;
    for round in 0..ROUNDS {
        if round == ROUNDS / 10 {
            early = peak();
        }
        let mailbox = Arc::new(Mailbox::default());
        *current.lock().unwrap() = Arc::clone(&mailbox);
        barrier.wait();
        *mailbox.words.lock().unwrap() = vec![1; 16 + round % 64 * 8];
        mailbox.filled.notify_all();
        barrier.wait();
    }
    let sums: Vec<u64> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
    let grown = peak() - early;
    match sums.iter().all(|sum| *sum == sums[0]) && grown <= 6 {
        true => println!("done"),
        false => println!("{sums:?}, {early} MB, then {grown} MB more"),
    }
}

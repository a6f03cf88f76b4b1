//! A channel with little room, asked by three threads without waiting. The program does nothing wrong; the channel reads
//! stale values and tries again, which is its own business.
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::thread;

fn main() {
    let mut sum = 0;
    for _ in 0..50 {
        let (sender, receiver) = sync_channel::<u32>(2);
        let senders = [1, 2].map(|value| {
            let sender = sender.clone();
            thread::spawn(move || {
                for _ in 0..40 {
                    while sender.try_send(value).is_err() {
                        thread::yield_now();
                    }
                }
            })
        });
        drop(sender);
        loop {
            match receiver.try_recv() {
                Ok(value) => sum += value,
                Err(TryRecvError::Empty) => sum += receiver.recv().unwrap_or(0),
                Err(TryRecvError::Disconnected) => break,
            }
        }
        senders.map(|sender| sender.join().unwrap());
    }
    println!("{sum}");
}

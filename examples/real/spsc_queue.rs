// A bounded queue for one producer and one consumer, split into two ends that share an `Arc`. With `--cfg broken`, the
// producer publishes its position without releasing what it wrote before.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: races violated

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PUBLISH: Ordering = if cfg!(broken) { Ordering::Relaxed } else { Ordering::Release };
const CAPACITY: usize = 2;

struct Ring {
    slots: [UnsafeCell<u32>; CAPACITY],
    head: AtomicUsize,
    tail: AtomicUsize,
}

unsafe impl Sync for Ring {}

struct Producer(Arc<Ring>);
struct Consumer(Arc<Ring>);

fn ring() -> (Producer, Consumer) {
    let slots = [UnsafeCell::new(0), UnsafeCell::new(0)];
    let ring = Arc::new(Ring { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) });
    (Producer(ring.clone()), Consumer(ring))
}

impl Producer {
    fn push(&self, value: u32) {
        let tail = self.0.tail.load(Ordering::Relaxed);
        while tail - self.0.head.load(Ordering::Acquire) == CAPACITY {
            thread::yield_now();
        }
        unsafe { *self.0.slots[tail % CAPACITY].get() = value };
        self.0.tail.store(tail + 1, PUBLISH);
    }
}

impl Consumer {
    fn pop(&self) -> u32 {
        let head = self.0.head.load(Ordering::Relaxed);
        while self.0.tail.load(Ordering::Acquire) == head {
            thread::yield_now();
        }
        let value = unsafe { *self.0.slots[head % CAPACITY].get() };
        self.0.head.store(head + 1, Ordering::Release);
        value
    }
}

fn main() {
    let (producer, consumer) = ring();
    let thread = thread::spawn(move || (1..=3).for_each(|value| producer.push(value)));
    for expected in 1..=3 {
        assert_eq!(consumer.pop(), expected);
    }
    thread.join().unwrap();
}

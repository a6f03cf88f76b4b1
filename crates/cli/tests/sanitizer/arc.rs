// Counting references as Arc does: the last one to go must see what all others did. broken: it does not.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*, fence};
use std::thread;

struct Inner {
    count: AtomicUsize,
    marks: [u64; 4],
}

struct Counted(*mut Inner);
unsafe impl Send for Counted {}

impl Clone for Counted {
    fn clone(&self) -> Self {
        unsafe { (*self.0).count.fetch_add(1, Relaxed) };
        Counted(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let order = if cfg!(broken) { Relaxed } else { Release };
        if unsafe { (*self.0).count.fetch_sub(1, order) } == 1 {
            if !cfg!(broken) {
                fence(Acquire);
            }
            let inner = unsafe { Box::from_raw(self.0) };
            assert_eq!(inner.marks.iter().sum::<u64>(), 6);
        }
    }
}

fn main() {
    let inner = Inner { count: AtomicUsize::new(1), marks: [0; 4] };
    let counted = Counted(Box::into_raw(Box::new(inner)));
    let real = Arc::new(vec![1, 2, 3]);
    for number in 0..4 {
        let (mine, real) = (counted.clone(), Arc::clone(&real));
        thread::spawn(move || {
            let mine = mine;
            unsafe { (*mine.0).marks[number] = number as u64 };
            assert_eq!(real.len(), 3);
        });
    }
    drop(counted);
    while Arc::strong_count(&real) > 1 {
        thread::yield_now();
    }
    println!("done");
}

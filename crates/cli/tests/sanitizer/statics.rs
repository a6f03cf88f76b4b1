//! A static variable of a function that is made by whoever comes first. With `racing`, both write to it; with `aside`, one finds it
//! through a pointer that it was handed without any order.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::sync::{LazyLock, OnceLock};
use std::thread;

struct Table {
    entries: Vec<u64>,
    uses: UnsafeCell<u64>,
}

unsafe impl Sync for Table {}

fn make() -> Table {
    Table { entries: (0..10).collect(), uses: UnsafeCell::new(0) }
}

fn table() -> &'static Table {
    static ONLY: OnceLock<Table> = OnceLock::new();
    ONLY.get_or_init(make)
}

fn other() -> &'static Table {
    static ONLY: LazyLock<Table> = LazyLock::new(make);
    &ONLY
}

static HANDED: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());

fn work(me: usize) {
    if cfg!(aside) {
        if me == 0 {
            HANDED.store((&raw const *table()).cast_mut(), Relaxed);
        } else {
            while HANDED.load(Relaxed).is_null() {
                thread::yield_now();
            }
            unsafe { std::ptr::read_volatile((*HANDED.load(Relaxed)).entries.as_ptr().add(3)) };
        }
        return;
    }
    let sum = table().entries.iter().chain(&other().entries).sum::<u64>();
    if cfg!(racing) {
        unsafe { *table().uses.get() += sum };
    }
}

fn main() {
    [0, 1].map(|me| thread::spawn(move || work(me))).map(|thread| thread.join().unwrap());
    println!("done");
}

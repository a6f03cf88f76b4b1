//! Two races, one for a variable and one for a block of the heap, by two threads that one function creates.
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static mut TABLE: [u64; 5] = [0; 5];
static BLOCK: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

fn write(value: u8) {
    let table = &raw mut TABLE;
    unsafe {
        BLOCK.load(Relaxed).add(16).write_volatile(value);
        table.cast::<u64>().add(1).write_volatile(value.into());
    }
}

#[inline(never)]
fn allocate(size: usize) -> *mut u8 {
    let block = Box::leak(vec![1u8; size].into_boxed_slice());
    black_box(&block);
    block.as_mut_ptr()
}

#[inline(never)]
fn begin(what: fn()) -> JoinHandle<()> {
    let handle = thread::spawn(what);
    black_box(&handle);
    handle
}

fn main() {
    BLOCK.store(allocate(37), Relaxed);
    let first = begin(|| write(1));
    // After the other, in a way that orders nothing.
    let second = begin(|| {
        thread::sleep(Duration::from_millis(100));
        write(2);
    });
    first.join().unwrap();
    second.join().unwrap();
    println!("done");
}

// Store buffering with fences in assembly; with --cfg=none there are none.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn fence() {
    #[cfg(not(none))]
    unsafe {
        std::arch::asm!("mfence", options(nostack));
    }
}

fn side(mine: &AtomicU32, other: &AtomicU32) -> u32 {
    mine.store(1, Relaxed);
    fence();
    other.load(Relaxed)
}

fn main() {
    let one = std::thread::spawn(|| side(&X, &Y));
    let two = std::thread::spawn(|| side(&Y, &X));
    let _ = (one.join(), two.join());
    println!("done");
}

//! Store buffering on atomics that are made where others were, with `ptr::write`; with `fixed`, fenced.
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread;

struct Object {
    x: AtomicU32,
    y: AtomicU32,
}

#[inline(never)]
fn meet(mine: &AtomicU32, theirs: &AtomicU32) -> u32 {
    mine.store(1, Ordering::Relaxed);
    if cfg!(fixed) {
        fence(Ordering::SeqCst);
    }
    theirs.load(Ordering::Relaxed)
}

#[inline(never)]
fn fresh(place: *mut Object) {
    unsafe { place.write(Object { x: AtomicU32::new(0), y: AtomicU32::new(0) }) };
}

fn main() {
    let place = Box::into_raw(Box::new(Object { x: AtomicU32::new(0), y: AtomicU32::new(0) }));
    let object: &'static Object = unsafe { &*place };
    for life in 0..4 {
        fresh(place);
        if life == 0 {
            object.x.store(9, Ordering::Release);
            object.y.fetch_add(7, Ordering::AcqRel);
            continue;
        }
        let a = thread::spawn(|| meet(&object.x, &object.y));
        let b = thread::spawn(|| meet(&object.y, &object.x));
        a.join().unwrap();
        b.join().unwrap();
    }
    println!("done");
}

// A node with an atomic link and the item that it leads to have the same size, so one may get the block that the other had.
// fencepost: races holds, assertions holds
// fencepost --cfg broken: races violated
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;

struct Item {
    key: u64,
    label: u8,
}

struct Node {
    item: Box<Item>,
    next: AtomicPtr<Node>,
}

static TOP: AtomicPtr<Node> = AtomicPtr::new(null_mut());

fn push(key: u64) {
    let item = Box::new(Item { key, label: 7 });
    let node = Box::into_raw(Box::new(Node { item, next: AtomicPtr::new(null_mut()) }));
    let mut top = TOP.load(Relaxed);
    loop {
        unsafe { (*node).next.store(top, Relaxed) };
        match TOP.compare_exchange(top, node, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => top = now,
        }
    }
}

fn take_all() {
    let order = if cfg!(broken) { Relaxed } else { Acquire };
    let mut top = TOP.swap(null_mut(), order);
    while !top.is_null() {
        let node = unsafe { Box::from_raw(top) };
        assert!(node.item.key > 0 && node.item.label == 7);
        top = node.next.load(Relaxed);
    }
}

fn main() {
    let other = thread::spawn(|| {
        push(1);
        take_all();
    });
    push(2);
    take_all();
    push(3);
    take_all();
    other.join().unwrap();
}

// A lock-free stack of boxes (R. K. Treiber, 1986). Nodes are never freed while the stack is in use, so there is no ABA
// problem here. With `--cfg broken`, a push does not release: another thread may find a node before what is in it.
//
// fencepost: robustness holds, races holds, assertions holds
// fencepost --cfg broken: races violated

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

const PUBLISH: Ordering = if cfg!(broken) { Ordering::Relaxed } else { Ordering::Release };

struct Node {
    value: u32,
    next: *mut Node,
}

struct Stack {
    top: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            unsafe { (*node).next = top };
            match self.top.compare_exchange_weak(top, node, PUBLISH, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            if top.is_null() {
                return None;
            }
            let next = unsafe { (*top).next };
            match self.top.compare_exchange_weak(top, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(unsafe { (*top).value }),
                Err(now) => top = now,
            }
        }
    }
}

static STACK: Stack = Stack { top: AtomicPtr::new(ptr::null_mut()) };

fn main() {
    let thread = thread::spawn(|| STACK.push(1));
    let popped = STACK.pop();
    assert!(popped.is_none() || popped == Some(1));
    thread.join().unwrap();
    assert_eq!(popped.or_else(|| STACK.pop()), Some(1));
}

//! Small blocks of memory for the runtime itself.
//!
//! A program with a million atomic locations has some millions of small blocks here: histories, and what
//! threads saw. The C library would spread them, and add a word to each, and what takes longest is that the system has
//! to provide the memory. So they come from one reservation, cut into pieces for threads, and a thread takes blocks of
//! its piece one after the other.
//!
//! Blocks that are given back are in lists, one for every size and thread. A thread that gets a long list, because it
//! gives back what others took, hands it over to all as a *batch*, and who runs out of blocks of a size looks for a
//! batch first. Nobody waits here: where another thread looks at the batches, or a signal handler came in between, a
//! block comes from somewhere else, or is lost. So a child that was forked while somebody held the lock never waits
//! for it.

use crate::locked_location::Lock;
use std::alloc::Layout;
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest block, in bytes.
pub const LARGEST: usize = 512;
const STEP: usize = 16;
const SIZES: usize = LARGEST / STEP;
/// How many bytes are reserved.
const BYTES: usize = 1 << 36;
/// How many a thread gets at a time.
const PIECE: usize = 1 << 15;
/// How many blocks of a size a thread keeps to itself.
const LONG: u32 = 128;

/// A block that nobody uses.
struct Free {
    next: *mut Free,
    /// Of the first block of a batch: the next batch.
    batch: *mut Free,
}

#[derive(Clone, Copy)]
struct List {
    first: *mut Free,
    count: u32,
}

/// A thread's.
struct Pool {
    lists: [Cell<List>; SIZES],
    /// The rest of its piece: from, to.
    rest: Cell<(usize, usize)>,
    /// Is the thread busy here, or gone?
    closed: Cell<bool>,
}

thread_local! {
    static POOL: Pool = const {
        Pool {
            lists: [const { Cell::new(List { first: null_mut(), count: 0 }) }; SIZES],
            rest: Cell::new((0, 0)),
            closed: Cell::new(false),
        }
    };
}

/// Where the reservation begins, and up to where it was given out.
static BASE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);

struct Batches {
    lock: Lock,
    first: UnsafeCell<[*mut Free; SIZES]>,
}

// SAFETY: reached through the lock only.
unsafe impl Sync for Batches {}

static BATCHES: Batches =
    Batches { lock: Lock::new(), first: UnsafeCell::new([null_mut(); SIZES]) };

/// Reserves memory. Until then, and if there is none, there are no blocks here.
pub fn reserve() {
    if let Some(base) = crate::memory::map(BYTES) {
        crate::memory::enlarge_pages(base);
        NEXT.store(base, Ordering::Relaxed);
        BASE.store(base, Ordering::Relaxed);
    }
}

/// Does a block come from here?
#[inline]
pub fn owns(block: *mut u8) -> bool {
    let base = BASE.load(Ordering::Relaxed);
    base != 0 && (block as usize).wrapping_sub(base) < BYTES
}

/// A block, if there are any of its kind.
#[inline]
pub fn take(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() > LARGEST || layout.size() == 0 || layout.align() > STEP {
        return None;
    }
    let number = (layout.size() - 1) / STEP;
    alone(|pool| {
        let List { first, count } = pool.lists[number].get();
        if let Some(block) = NonNull::new(first) {
            // SAFETY: a block that nobody uses.
            let next = unsafe { block.as_ref().next };
            pool.lists[number].set(List { first: next, count: count.saturating_sub(1) });
            return Some(block.cast());
        }
        pool.cut(number)
    })
    .flatten()
}

/// Gives a block back.
///
/// # Safety
/// It must come from [`take`] for a layout of the same size, and nobody must use it any more.
#[inline]
pub unsafe fn give_back(block: *mut u8, layout: Layout) {
    let number = (layout.size() - 1) / STEP;
    alone(|pool| {
        let List { first, count } = pool.lists[number].get();
        let block = block.cast::<Free>();
        // SAFETY: the block is the thread's, and has room for this.
        unsafe { block.write(Free { next: first, batch: null_mut() }) };
        pool.lists[number].set(List { first: block, count: count + 1 });
        if count >= LONG {
            pool.hand_over(number);
        }
    });
}

/// The thread takes and gives back no more.
pub fn leave() {
    POOL.with(|pool| {
        pool.closed.set(true);
        (0..SIZES).for_each(|number| pool.hand_over(number));
    });
}

/// Unless the thread is here already.
#[inline]
fn alone<R>(f: impl FnOnce(&Pool) -> R) -> Option<R> {
    POOL.with(|pool| {
        if pool.closed.replace(true) {
            return None;
        }
        let result = f(pool);
        pool.closed.set(false);
        Some(result)
    })
}

/// Looks at the batches, unless somebody else does.
fn batches<R>(f: impl FnOnce(&mut [*mut Free; SIZES]) -> R) -> Option<R> {
    if !BATCHES.lock.try_take() {
        return None;
    }
    // SAFETY: the lock is held.
    let result = f(unsafe { &mut *BATCHES.first.get() });
    BATCHES.lock.give_back();
    Some(result)
}

impl Pool {
    /// A block of a size that the thread has none of.
    #[inline(never)]
    fn cut(&self, number: usize) -> Option<NonNull<u8>> {
        let batch = batches(|all| {
            let first = all[number];
            if !first.is_null() {
                // SAFETY: a block that nobody uses.
                all[number] = unsafe { (*first).batch };
            }
            first
        });
        if let Some(block) = batch.and_then(NonNull::new) {
            // SAFETY: as above. How many there are was not kept: some more than this.
            let next = unsafe { block.as_ref().next };
            self.lists[number].set(List { first: next, count: 0 });
            return Some(block.cast());
        }
        let size = (number + 1) * STEP;
        let (mut from, mut to) = self.rest.get();
        if to - from < size {
            if BASE.load(Ordering::Relaxed) == 0 {
                return None;
            }
            from = NEXT.fetch_add(PIECE, Ordering::Relaxed);
            to = from + PIECE;
            if to - BASE.load(Ordering::Relaxed) > BYTES {
                return None;
            }
        }
        self.rest.set((from + size, to));
        NonNull::new(from as *mut u8)
    }

    /// Others may have all blocks of a size.
    #[inline(never)]
    fn hand_over(&self, number: usize) {
        let first = self.lists[number].get().first;
        let done = !first.is_null()
            && batches(|all| {
                // SAFETY: a block that nobody uses.
                unsafe { (*first).batch = all[number] };
                all[number] = first;
            })
            .is_some();
        if done {
            self.lists[number].set(List { first: null_mut(), count: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn of(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a layout")
    }

    /// Catches blocks that two owners have, and blocks that are lost when another thread than the one that took
    /// them gives them back: then memory would grow without end.
    #[test]
    fn blocks_have_one_owner_and_come_back() {
        reserve();
        let (out, back) = mpsc::sync_channel::<(usize, usize, u8)>(1000);
        let giver = std::thread::spawn(move || {
            for (block, size, mark) in back {
                let bytes = block as *mut u8;
                // SAFETY: the sender took it, and uses it no more.
                unsafe {
                    assert!((0..size).all(|index| *bytes.add(index) == mark));
                    give_back(bytes, of(size));
                }
            }
            leave();
        });
        let mut last = None;
        for step in 0..400_000usize {
            let size = 1 + step * 37 % LARGEST;
            let block = take(of(size)).expect("there is memory").as_ptr();
            assert!(owns(block) && (block as usize).is_multiple_of(STEP));
            // SAFETY: taken just now.
            unsafe { block.write_bytes(step as u8, size) };
            // Some stay with this thread.
            if step % 5 == 0 {
                if let Some((block, size)) = last.replace((block, size)) {
                    // SAFETY: taken before, and not given away.
                    unsafe { give_back(block, of(size)) };
                }
            } else {
                out.send((block as usize, size, step as u8)).expect("the other thread waits");
            }
        }
        drop(out);
        giver.join().expect("no block changed");
        let used = NEXT.load(Ordering::Relaxed) - BASE.load(Ordering::Relaxed);
        // A hundred megabytes were taken, and a thousand blocks at a time.
        assert!(used < 40 << 20, "{used}");
        assert!(take(of(LARGEST + 1)).is_none());
        assert!(take(Layout::from_size_align(64, 64).expect("a layout")).is_none());
    }
}

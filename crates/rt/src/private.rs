//! Plain accesses of a thread to its own stack, without locked instructions.
//!
//! Nearly all of a thread's plain accesses that must be noted, because it released something since the last one, are to
//! variables on its stack, and nobody else ever looks there. Two threads that access the same bytes see each other
//! because each puts itself into the [`Cell`](clocks::shadow::Cell) by a read-modify-write before it looks for the other. A
//! thread has a *window*, a few pieces of memory around the beginning of its stack, in which it loads and stores
//! instead, as long as it has not been *revoked*: whoever else accesses memory in there revokes the window first, for ever. So
//! it does not matter for the answers whether the window really is a stack, or only its owner's.
//!
//! * The owner notes an access *inside*, in the sense of [`crate::locked_location`], and asks there whether the window is still its own. Who
//!   revokes it is alone: what the owner stored before is seen by everybody, and it stores nothing any more.
//! * Another thread notes its access as it would anywhere, by read-modify-writes, *then* looks whether the memory is in
//!   somebody's window, revokes it if so, and notes the access once more: the owner may have overwritten the first note, or
//!   not have been seen. Looking before would not do: the window could come to be in between. An owner makes its window
//!   known, has a full barrier, and only then uses it, so that one of the two sees the other.
//! * A plain access also looks for atomic locations in the same bytes, and an atomic one for plain accesses. Where
//!   there is a location, both do it under its lock, whoever they are. A location that is made by another thread in a window
//!   revokes it when it can be found and before anything is done with it.
//! * Memory given back or filled as a whole is noted with one barrier ([`crate::plain`]); who does that looks at all
//!   windows in it after the barrier.
//!
//! While everything is recorded, and with `quick=0`, no thread has a window.

use crate::locked_location;
use crate::memory;
use crate::registry::{self, State};
use crate::thread::Thread;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// How many bits an address has within a piece.
const PIECE: u32 = 16;
/// How many pieces are a window at most.
const MOST: usize = 4;
/// How many pieces can be told apart; a thread whose pieces collide with another's has no window.
const SLOTS: usize = 1 << 12;

/// For each slot, the one piece in it that belongs to a window; 0 if there is none.
static PIECES: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];

/// A thread's own memory, as long as nobody else comes.
#[derive(Default)]
pub struct Window {
    from: AtomicUsize,
    bytes: AtomicUsize,
}

impl Window {
    #[inline(always)]
    fn has(&self, address: usize) -> bool {
        let from = self.from.load(Ordering::Relaxed);
        address.wrapping_sub(from) < self.bytes.load(Ordering::Relaxed)
    }

    fn pieces(&self) -> std::ops::Range<usize> {
        let (from, bytes) = (self.from.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        from >> PIECE..(from + bytes) >> PIECE
    }
}

#[inline(always)]
fn slot(piece: usize) -> &'static AtomicUsize {
    &PIECES[piece.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.ilog2())]
}

/// Is the address in somebody's window?
#[inline(always)]
fn is_in_any(address: usize) -> bool {
    let piece = address >> PIECE;
    slot(piece).load(Ordering::SeqCst) == piece
}

/// Gives the calling thread a window: the memory around `stack`, where its stack is now, and below, but nothing below `lowest`. The
/// caller has entered it into the list of threads that run.
pub fn open(_: &mut State, thread: &Thread, stack: usize, lowest: usize) {
    if !registry::is_quick() {
        return;
    }
    let last = stack >> PIECE;
    let first = last.saturating_sub(MOST - 1).max(lowest >> PIECE).max(1);
    let mut first_free = last + 1;
    while first_free > first && slot(first_free - 1).load(Ordering::Relaxed) == 0 {
        first_free -= 1;
        slot(first_free).store(first_free, Ordering::SeqCst);
    }
    fence(Ordering::SeqCst);
    thread.window.from.store(first_free << PIECE, Ordering::Relaxed);
    thread.window.bytes.store((last + 1 - first_free) << PIECE, Ordering::Relaxed);
}

/// The thread's window is an ordinary piece of memory from now on. Called by the thread itself, or by one that is alone; the
/// caller holds the lock of the state.
pub fn close(_: &mut State, thread: &Thread) {
    for piece in thread.window.pieces() {
        slot(piece).store(0, Ordering::SeqCst);
    }
    thread.window.bytes.store(0, Ordering::Relaxed);
}

/// Notes an access to the thread's own window, if it is one. Says whether it did. No other access is found that it
/// races with, because there is none but the thread's own.
#[inline(always)]
pub fn note<const WRITE: bool>(thread: &Thread, address: usize, mask: u8) -> bool {
    thread.window.has(address)
        && locked_location::alone_or_not(thread, || {
            thread.window.has(address)
                && memory::cell(address).access_alone::<WRITE>(thread.epoch, mask)
        }) == Some(true)
}

/// The thread has noted an access to these bytes, or made a location there that can be found now. If they were in another's window,
/// they are no more, and the access is to be noted again.
#[inline(always)]
pub fn revoke(thread: &Thread, address: usize) -> bool {
    is_in_any(address)
        && !thread.window.has(address)
        && revoke_locked(&mut registry::lock(), thread, address)
}

/// The same by who holds the lock of the state.
#[cold]
#[inline(never)]
pub fn revoke_locked(state: &mut State, thread: &Thread, address: usize) -> bool {
    if !is_in_any(address) || thread.window.has(address) {
        return false;
    }
    locked_location::exclusively(state, |state| {
        for other in state.running.clone() {
            // SAFETY: threads leave the list before they are gone, which takes the lock of the state.
            let other = unsafe { &*other };
            if other.window.has(address) {
                close(state, other);
            }
        }
        // In the child of a fork, the owner may be gone.
        slot(address >> PIECE).store(0, Ordering::SeqCst);
    });
    true
}

/// The same for all bytes from one address to another.
pub fn revoke_all(thread: &Thread, from: usize, to: usize) -> bool {
    let pieces = from >> PIECE..=(to.max(from + 1) - 1) >> PIECE;
    let mut revoked = false;
    for piece in pieces {
        revoked |= revoke(thread, from.max(piece << PIECE));
    }
    revoked
}

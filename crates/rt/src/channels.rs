//! Pipes, sockets and their like: what one thread did before it wrote there comes before what another does after it
//! has read.
//!
//! Which reads read what was written is the system's business, so a channel has one clock, like a lock: a
//! read comes after all that was written before. Both ends of a pipe are one file to the system, and a channel
//! by its number; the two sockets of a pair are two, and so are those of a connection. The pair is known from
//! its making. All other sockets are one channel. Event counters have no file of their own, and are
//! channels by the number of their descriptor. Files on disk order nothing.

use crate::heap;
use crate::objects::Role;
use crate::sync;
use crate::thread;
use libc::c_int;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// The channel of all sockets that are not known to be of a pair.
const SOCKETS: usize = 1;
/// What the numbers of descriptors begin with, so that no address is among them.
const COUNTERS: usize = 1 << 62;
const PIPES: usize = 1 << 61;
const PAIRS: usize = 1 << 60;

/// Pairs of sockets: the number of either, and that of the first.
static PAIRED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

fn status(descriptor: c_int) -> Option<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the system writes what it has room for; read only if it did.
    unsafe { (libc::fstat(descriptor, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }
}

fn channel(descriptor: c_int) -> Option<usize> {
    let status = status(descriptor)?;
    match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Some(PIPES | status.st_ino as usize),
        libc::S_IFSOCK => {
            let paired = PAIRED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let pair = paired.iter().find(|&&(one, _)| one == status.st_ino);
            Some(pair.map_or(SOCKETS, |&(_, first)| PAIRS | first as usize))
        }
        // Event counters, and what else has no file.
        0 => Some(COUNTERS | descriptor as usize),
        _ => None,
    }
}

fn is_watched() -> bool {
    heap::READY.load(Ordering::Relaxed) && thread::current().is_some_and(|thread| !thread.busy)
}

/// The thread is about to write to a descriptor.
pub fn writes(descriptor: c_int) {
    if is_watched()
        && let Some(channel) = quietly(|| channel(descriptor))
    {
        sync::release(channel, Role::Channel);
    }
}

/// The thread has read from a descriptor, if this many bytes are more than none; says how many.
pub fn has_read(descriptor: c_int, result: isize) -> isize {
    if result > 0
        && is_watched()
        && let Some(channel) = quietly(|| channel(descriptor))
    {
        sync::acquire(channel, Role::Channel);
    }
    result
}

/// Two sockets were made that are connected.
pub fn paired(descriptors: [c_int; 2]) {
    if !is_watched() {
        return;
    }
    quietly(|| {
        let (Some(a), Some(b)) = (status(descriptors[0]), status(descriptors[1])) else { return };
        let mut paired = PAIRED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        paired.retain(|&(one, _)| one != a.st_ino && one != b.st_ino);
        paired.extend([(a.st_ino, a.st_ino), (b.st_ino, a.st_ino)]);
    });
}

/// Keeps the lock of the pairs, as long as what is returned lives.
pub fn hold() -> impl Sized {
    PAIRED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Does something in which no signal handler is analysed, and leaves the error number alone.
fn quietly<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: this thread's error number.
    let error = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *error };
    if let Some(mut thread) = thread::current() {
        thread.busy = true;
    }
    let result = f();
    if let Some(mut thread) = thread::current() {
        thread.busy = false;
    }
    // SAFETY: as above.
    unsafe { *error = before };
    result
}

//! What Rust's standard library does behind the runtime's back.
//!
//! Generic and inlined code of the standard library is compiled, and so instrumented, with the program:
//! `Mutex::lock` is a compare-and-swap that the runtime sees. What it does when the lock is taken was
//! compiled long before. `fencepost rustc` has the linker send calls to these few functions through the
//! runtime, which tells the analysis what they order:
//!
//! * The words they access are *foreign*: written by code that nobody watches. Nothing is said to be
//!   stale there, and a foreign word has a clock of its own, like a mutex, on top of its location's. (Atomics
//!   of different sizes that overlap are foreign to each other, and have one clock.)
//!   Instrumented accesses to it that acquire or release do so with that clock as well.
//! * A function that takes something acquires that clock afterwards; one that gives something releases to
//!   it before.
//! * A `Once` is complete before `call` returns; who sees that asks the thread that is still in there.
//! * Where `park` was woken from is not known: it comes after all that anyone did so far.
//!
//! That never invents a race or a stale value. It may order more than the program does.

use crate::locked_location::{self, Held, Watch};
use crate::objects::{Edge, Role};
use crate::registry::{self, State};
use crate::schedule;
use crate::thread::{self, Thread};
use clocks::access::Done;
use clocks::{Order, Tid};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Some words that a function of the standard library accesses.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Where they begin.
    pub address: usize,
    /// How many.
    pub count: usize,
    /// How many bytes each has: 4 or 8.
    pub size: usize,
}

impl Words {
    /// The word that a futex is.
    pub fn futex(address: usize) -> Words {
        Words { address, count: 1, size: 4 }
    }

    fn addresses(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.address + index * self.size)
    }
}

/// The calling thread is about to access these words out of sight.
pub fn announce(words: Words) {
    watch(|state, thread| {
        for address in words.addresses() {
            // SAFETY: the words that the standard library is about to access atomically.
            let now = || unsafe {
                match words.size {
                    4 => u64::from((*(address as *const AtomicU32)).load(Ordering::SeqCst)),
                    _ => (*(address as *const AtomicU64)).load(Ordering::SeqCst),
                }
            };
            let mut held = state.hold(thread, address, words.size as u8, now);
            if held.is_foreign() {
                continue;
            }
            state.make_foreign(&mut held, address);
        }
    });
}

/// The words were given: what the thread did so far comes before what others do that take them.
pub fn give(words: Words) {
    watch(|state, thread| {
        words.addresses().for_each(|address| state.release(&mut thread.clocks, address));
    });
}

/// The words were taken.
pub fn take(words: Words) {
    watch(|state, thread| {
        words.addresses().for_each(|address| state.acquire(&mut thread.clocks, address));
    });
}

/// The thread begins something that others may see complete before it returns.
pub fn begin(address: usize) {
    watch(|state, thread| {
        state.unfinished.retain(|&one| one != (address, thread.tid));
        state.unfinished.push((address, thread.tid));
    });
}

/// The same, for something that one thread at a time may begin: who began it before did not finish, but threw an
/// exception, and this thread comes after it.
pub fn begin_again(address: usize) {
    watch(|state, thread| {
        let before = state.unfinished.iter().filter(|&&(other, _)| other == address);
        for by in before.map(|&(_, by)| by).collect::<Vec<Tid>>() {
            state.release_for(by, &mut thread.clocks, address);
        }
        state.acquire(&mut thread.clocks, address);
        state.unfinished.retain(|&(other, _)| other != address);
        state.unfinished.push((address, thread.tid));
    });
}

/// It is back.
pub fn end(address: usize) {
    watch(|state, thread| {
        state.release(&mut thread.clocks, address);
        state.unfinished.retain(|&one| one != (address, thread.tid));
    });
}

/// Somebody woke the thread; nobody knows who.
pub fn woken() {
    watch(|state, thread| {
        let me: *mut Thread = thread;
        locked_location::exclusively(state, |state| {
            for other in state.running.clone().into_iter().filter(|&other| other != me) {
                // SAFETY: nobody moves clocks but the caller, and the thread is still in the list.
                state.release(unsafe { &mut (*other).clocks }, 0);
            }
            let mut threads = std::mem::take(&mut state.threads);
            for ended in threads.values_mut().filter_map(|created| created.ended.as_mut()) {
                state.release(ended, 0);
            }
            state.threads = threads;
        });
        state.acquire(&mut thread.clocks, 0);
    });
}

fn watch(tell: impl FnOnce(&mut State, &mut Thread)) {
    let Some(mut thread) = thread::current() else { return };
    if thread.busy {
        return;
    }
    thread.busy = true;
    let mut state = registry::lock();
    tell(&mut state, &mut thread);
    thread.refresh();
    drop(state);
    thread.busy = false;
}

impl State {
    /// An instrumented access to a foreign word.
    #[cold]
    pub fn foreign(
        &mut self,
        thread: &mut clocks::thread::Thread,
        address: usize,
        order: Order,
        done: Done,
    ) {
        let unfinished = self.unfinished.iter().filter(|&&(other, _)| other == address);
        for by in unfinished.map(|&(_, by)| by).collect::<Vec<Tid>>() {
            self.release_for(by, thread, address);
        }
        if order.acquires() && !matches!(done, Done::Store(_)) {
            self.acquire(thread, address);
        }
        if order.releases() && !matches!(done, Done::Read) {
            self.release(thread, address);
        }
    }

    /// Releases what another thread did so far.
    fn release_for(&mut self, by: Tid, thread: &mut clocks::thread::Thread, address: usize) {
        if by == thread.tid() {
            return self.release(thread, address);
        }
        locked_location::exclusively(self, |state| {
            // SAFETY: the thread is in the list, so it is still there.
            let other = state.running.iter().copied().find(|&other| unsafe { (*other).tid } == by);
            if let Some(other) = other {
                // SAFETY: nobody moves clocks but the caller.
                state.release(unsafe { &mut (*other).clocks }, address);
            }
        });
    }

    /// From now on the location has the clock of a lock; so far, what was published went to the location alone.
    pub fn make_foreign(&mut self, held: &mut Held, address: usize) {
        let loc = held.loc();
        self.hand_over(loc, &mut held.location, clock_of(address));
        held.watch = Watch::Foreign;
    }

    fn release(&mut self, thread: &mut clocks::thread::Thread, address: usize) {
        self.edge(thread, clock_of(address), Role::Lock, Edge::Release);
    }

    fn acquire(&mut self, thread: &mut clocks::thread::Thread, address: usize) {
        self.edge(thread, clock_of(address), Role::Lock, Edge::Acquire);
    }
}

/// The address of the clock of a foreign word, and of what one thread begins and ends.
pub fn clock_of(address: usize) -> usize {
    address & !7
}

/// `syscall`, where the program waits on futexes and the runtime schedules.
pub fn futex(arguments: [usize; 6], system: impl FnOnce() -> isize) -> Result<isize, i32> {
    let [address, operation, value, timeout, ..] = arguments;
    let scheduled = schedule::active()
        && thread::current().is_some_and(|thread| !thread.busy && !thread.deciding);
    match operation as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET if scheduled => {
            let seen = schedule::writes();
            // SAFETY: the program waits on it.
            let now = unsafe { (*(address as *const AtomicU32)).load(Ordering::SeqCst) };
            if now != value as u32 {
                return Err(libc::EAGAIN);
            }
            match schedule::block(address, timeout == 0, seen) {
                true => Err(libc::ETIMEDOUT),
                false => Ok(0),
            }
        }
        libc::FUTEX_WAKE if scheduled => Ok(schedule::wake(address, value > 1) as isize + system()),
        _ => Ok(system()),
    }
}

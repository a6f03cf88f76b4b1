//! Atomic locations, each with a lock of its own, and the few moments when nobody may hold one.
//!
//! An atomic access holds the lock of its location while it happens and while the analysis is told, so the
//! order of accesses to a location is the order in which its clocks move. A thread's clocks are moved by
//! that thread alone, in program order. Nothing else is shared but what seq_cst fences update, which has a
//! lock of its own, and locks and threads of the program, which are told under the lock of
//! [`crate::registry`]. Steps that have neither thread nor location in common commute ([`clocks::location`]), so
//! what is found is what one analysis would find that was told everything in some order that agrees with
//! these; the accesses themselves happen in this order too. Locks are taken in the order state, location,
//! fences.
//!
//! Five rare things concern other threads' clocks or all locations at once: `fork`, where a lock that
//! somebody else holds would stay held in the child forever; a thread that was woken and comes after
//! everybody; words that the standard library is still busy with; a barrier that the system puts into all threads; and a
//! thread's [own memory](crate::private) that another thread comes to. They are done *exclusively*
//! ([`exclusively`]): a flag is raised, and no thread is between `enter` and `leave` any more. A thread
//! says that it enters and then looks at the flag; who raises the flag looks at the threads afterwards. One of
//! the two sees the other if there is a full barrier between what each of them says and where it looks. Threads
//! enter all the time and the flag is raised hardly ever, so who raises it makes the system put a barrier into
//! every thread that runs (`membarrier`), and who enters has none. Where the system cannot do that, threads that
//! enter without taking a lock, which is a full barrier on this machine, have one of their own.

use crate::memory;
use crate::registry;
use crate::system;
use crate::thread::Thread;
use clocks::Loc;
use clocks::knowledge::Stamp;
use clocks::location::Location;
use clocks::thread::Fences;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

/// A location and its lock.
#[repr(C, align(64))]
pub struct Place {
    lock: Lock,
    next: AtomicU32,
    address: AtomicUsize,
    /// The number of its last write, for those who look without the lock. Numbers go on when another location comes to
    /// this place: who remembers that it saw a write of the old one must not take a write of the new one for it.
    version: AtomicU64,
    contents: UnsafeCell<Contents>,
}

/// What the lock protects.
#[repr(C)]
pub struct Contents {
    /// How many bytes it had when it was last accessed.
    pub size: u8,
    /// What can be said of it.
    pub watch: Watch,
    /// Its clocks.
    pub location: Location,
}

/// What can be said of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    /// All there is.
    Everything,
    /// It is the guard of a static variable: old values do no harm, see [`crate::guards`].
    Guard,
    /// Code that is not instrumented writes it as well. Nobody can tell what is stale, and it has the clock
    /// of a lock, see [`crate::rust_std`].
    Foreign,
}

impl Contents {
    /// Does code that is not instrumented write it as well?
    #[inline(always)]
    pub fn is_foreign(&self) -> bool {
        self.watch == Watch::Foreign
    }
}

// What is written together is in one cache line: the beginning up to the last write, what hardly changes, rows two by two, and
// each of three visitors. Without padding before the rows and the visitors, that is where they are.
const _: () = assert!(size_of::<Place>() == 8 * 64);

// SAFETY: the contents are reached through the lock only.
unsafe impl Sync for Place {}

/// How often a lock is looked at before others are let run, and before the thread sleeps.
const SPINS: u32 = 200;
const YIELDS: u32 = SPINS + 30;

/// A lock that spins a little, then lets others run, and then sleeps in between. Unlike those of the standard library it can be
/// taken in one process and given back in its child.
pub struct Lock(AtomicU32);

impl Lock {
    /// Nobody holds it.
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Takes it, unless `stop` says not to wait.
    #[inline(always)]
    pub fn take(&self, stop: impl Fn() -> bool) -> bool {
        self.0.swap(1, Ordering::AcqRel) == 0 || self.wait(stop)
    }

    /// Takes it, if nobody holds it.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0 && self.0.swap(1, Ordering::AcqRel) == 0
    }

    #[cold]
    fn wait(&self, stop: impl Fn() -> bool) -> bool {
        let mut tries = 0u32;
        loop {
            while self.0.load(Ordering::Relaxed) != 0 {
                if stop() {
                    return false;
                }
                tries += 1;
                match tries {
                    0..SPINS => std::hint::spin_loop(),
                    // SAFETY: a system call without arguments.
                    SPINS..YIELDS => unsafe {
                        system::call(libc::SYS_sched_yield, [0; 6]);
                    },
                    // Who holds it does not run, and does not run sooner for being asked again and again.
                    _ => system::sleep(50_000),
                }
            }
            if self.0.swap(1, Ordering::AcqRel) == 0 {
                return true;
            }
        }
    }

    /// Does somebody hold it?
    #[inline(always)]
    pub fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    /// Gives it back.
    #[inline(always)]
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }
}

impl Default for Lock {
    fn default() -> Self {
        Lock::new()
    }
}

static EXCLUSIVE: AtomicBool = AtomicBool::new(false);
/// Can the system put a barrier into all threads?
static REMOTE: AtomicBool = AtomicBool::new(false);

/// From `linux/membarrier.h`.
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;

/// Asks the system for barriers in all threads. Called once, before there is a second thread.
pub fn begin() {
    REMOTE.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::Relaxed);
}

fn membarrier(command: usize) -> bool {
    // SAFETY: changes no memory.
    unsafe { system::call(libc::SYS_membarrier, [command, 0, 0, 0, 0, 0]) == 0 }
}

/// The thread will move its clocks, or a location's. If its next atomic operation is no full barrier, it must
/// [say so](entered); then it must look whether it [`may_stay`].
#[inline(always)]
fn enter(thread: &Thread) {
    thread.inside.store(true, Ordering::Relaxed);
}

/// The barrier between saying that one enters and looking at the flag.
#[inline(always)]
fn entered() {
    if REMOTE.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

#[inline(always)]
fn may_stay() -> bool {
    // What was done by whoever was alone before is seen.
    !EXCLUSIVE.load(Ordering::Acquire)
}

#[inline(always)]
fn leave(thread: &Thread) {
    thread.inside.store(false, Ordering::Release);
}

/// Leaves until nobody is alone any more.
#[cold]
fn step_aside(thread: &Thread) {
    leave(thread);
    while EXCLUSIVE.load(Ordering::Relaxed) {
        // SAFETY: a system call without arguments.
        unsafe { system::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// Nobody else is inside from now on, until [`open`]. The caller holds the lock of the state.
pub fn close(state: &registry::State, me: *const Thread) {
    EXCLUSIVE.store(true, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    if REMOTE.load(Ordering::Relaxed) && !membarrier(PRIVATE_EXPEDITED) {
        // The program has forbidden itself such calls. From now on, threads have barriers of their own; what one
        // of them said before it knew of that is seen by everybody long before this wait is over.
        REMOTE.store(false, Ordering::SeqCst);
        system::sleep(1_000_000);
    }
    for &other in state.running.iter().filter(|&&other| other.cast_const() != me) {
        // SAFETY: threads leave the list before they are gone, which takes the lock of the state.
        while unsafe { (*other).inside.load(Ordering::Acquire) } {
            // SAFETY: a system call without arguments.
            unsafe { system::call(libc::SYS_sched_yield, [0; 6]) };
        }
    }
}

/// Others may go on.
pub fn open() {
    EXCLUSIVE.store(false, Ordering::Release);
}

/// Does something to the clocks of other threads. The caller holds the lock of the state.
#[cold]
pub fn exclusively<R>(state: &mut registry::State, f: impl FnOnce(&mut registry::State) -> R) -> R {
    let me = crate::thread::current().map_or(std::ptr::null(), |thread| &raw const *thread);
    close(state, me);
    let result = f(state);
    open();
    result
}

/// A thread moves its own clocks and nothing else. This is no barrier: a seq_cst fence has one in the lock of what
/// all fences update, and others are none on this machine.
#[inline]
pub fn alone<R>(thread: &mut Thread, f: impl FnOnce(&mut Thread) -> R) -> R {
    loop {
        enter(thread);
        entered();
        if may_stay() {
            break;
        }
        step_aside(thread);
    }
    let result = f(thread);
    leave(thread);
    result
}

/// A thread changes what nobody else changes unless it is alone: done now, or not at all.
#[inline(always)]
pub fn alone_or_not<R>(thread: &Thread, f: impl FnOnce() -> R) -> Option<R> {
    enter(thread);
    entered();
    let result = may_stay().then(f);
    leave(thread);
    result
}

/// The same with a lock held, which nobody has for long.
#[inline]
pub fn inside<R>(thread: &mut Thread, lock: &Lock, f: impl FnOnce(&mut Thread) -> R) -> R {
    loop {
        enter(thread);
        if !lock.take(|| !may_stay()) {
            step_aside(thread);
            continue;
        }
        if may_stay() {
            break;
        }
        lock.give_back();
        step_aside(thread);
    }
    let result = f(thread);
    lock.give_back();
    leave(thread);
    result
}

/// A location, held by a thread.
pub struct Held {
    place: &'static Place,
    inside: *const AtomicBool,
}

impl Held {
    /// Its number.
    pub fn loc(&self) -> Loc {
        memory::number(self.place)
    }

    /// Where it is.
    pub fn place(&self) -> &'static Place {
        self.place
    }

    /// Tells those who look without the lock that it was written.
    #[inline(always)]
    pub fn written(&self) {
        self.place.version.store(self.location.stamp().bits(), Ordering::Relaxed);
    }
}

impl Deref for Held {
    type Target = Contents;
    #[inline(always)]
    fn deref(&self) -> &Contents {
        // SAFETY: the lock is held.
        unsafe { &*self.place.contents.get() }
    }
}

impl DerefMut for Held {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Contents {
        // SAFETY: the lock is held.
        unsafe { &mut *self.place.contents.get() }
    }
}

impl Drop for Held {
    #[inline(always)]
    fn drop(&mut self) {
        self.place.lock.give_back();
        // SAFETY: the thread that holds it is the one that runs.
        unsafe { (*self.inside).store(false, Ordering::Release) };
    }
}

impl Place {
    /// The location at an address, if it is known. It may be gone by the time it is held.
    #[inline(always)]
    pub fn find(address: usize) -> Option<&'static Place> {
        let mut loc = memory::atomics(address).load(Ordering::Acquire);
        while loc != 0 {
            let place = memory::place(loc);
            if place.address.load(Ordering::Relaxed) == address {
                return Some(place);
            }
            loc = place.next.load(Ordering::Relaxed);
        }
        None
    }

    /// The next location in the same eight bytes.
    pub fn next(&self) -> Loc {
        self.next.load(Ordering::Relaxed)
    }

    /// Where the number of that one is kept.
    pub fn link(&'static self) -> &'static AtomicU32 {
        &self.next
    }

    /// Its address; 0 if it is no more.
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// The number of its last write, unless somebody is writing it.
    #[inline(always)]
    pub fn settled(&self) -> Option<u64> {
        if self.lock.is_taken() { None } else { Some(self.version.load(Ordering::Acquire)) }
    }

    /// Holds it, if it is still the location at this address.
    #[inline(always)]
    pub fn hold(&'static self, thread: &Thread, address: usize) -> Option<Held> {
        enter(thread);
        if !self.lock.take(|| !may_stay()) {
            step_aside(thread);
            return None;
        }
        let held = Held { place: self, inside: &raw const thread.inside };
        if !may_stay() {
            drop(held);
            step_aside(thread);
            return None;
        }
        if self.address.load(Ordering::Relaxed) != address {
            return None;
        }
        Some(held)
    }

    /// Makes it the location of an address. The caller holds the lock of the state, and nobody knows the place
    /// yet: its memory is fresh, or was [given up](Place::give_up_if).
    pub fn occupy(&'static self, address: usize, size: u8, value: u64, next: Loc) {
        // Somebody may still look at what was here before.
        self.lock.take(|| false);
        let stamp = Stamp::from_bits(self.version.load(Ordering::Relaxed));
        let location = Location::numbered_from(stamp, value);
        self.version.store(location.stamp().bits(), Ordering::Relaxed);
        let contents = Contents { size, watch: Watch::Everything, location };
        // SAFETY: the lock is held. What is overwritten is all zero, or owns nothing.
        unsafe { self.contents.get().write(contents) };
        self.next.store(next, Ordering::Relaxed);
        self.address.store(address, Ordering::Relaxed);
        self.lock.give_back();
    }

    /// It is no more, if its address and size are among those that `are_gone`. The caller holds the lock of the
    /// state.
    pub fn give_up_if(&'static self, are_gone: impl Fn(usize, u8) -> bool) -> bool {
        self.lock.take(|| false);
        let address = self.address.load(Ordering::Relaxed);
        // SAFETY: the lock is held.
        let contents = unsafe { &mut *self.contents.get() };
        let gone = are_gone(address, contents.size);
        if gone {
            self.address.store(0, Ordering::Relaxed);
            // No write had this number.
            let stamp = contents.location.stamp().next(false);
            self.version.store(stamp.bits(), Ordering::Relaxed);
            contents.location.clear();
        }
        self.lock.give_back();
        gone
    }
}

// The fences

#[repr(C, align(64))]
struct Shared {
    lock: Lock,
    /// So that a pair of rows is a cache line.
    _padding: [u32; 3],
    fences: UnsafeCell<Fences>,
}

// SAFETY: reached through the lock only.
unsafe impl Sync for Shared {}

static FENCES: Shared =
    Shared { lock: Lock::new(), _padding: [0; 3], fences: UnsafeCell::new(Fences::new()) };

/// What seq_cst fences update, locked.
pub struct HeldFences(());

/// Locks what seq_cst fences update. The caller is inside.
#[inline]
pub fn fences() -> HeldFences {
    FENCES.lock.take(|| false);
    HeldFences(())
}

impl Deref for HeldFences {
    type Target = Fences;
    #[inline]
    fn deref(&self) -> &Fences {
        // SAFETY: the lock is held.
        unsafe { &*FENCES.fences.get() }
    }
}

impl DerefMut for HeldFences {
    #[inline]
    fn deref_mut(&mut self) -> &mut Fences {
        // SAFETY: as above.
        unsafe { &mut *FENCES.fences.get() }
    }
}

impl Drop for HeldFences {
    #[inline]
    fn drop(&mut self) {
        FENCES.lock.give_back();
    }
}

//! The one shared state, and the lock around it.

use crate::options::Options;
use crate::thread::CallTree;
use clocks::shadow::Sets;
use clocks::trace::Event;
use clocks::{Analysis, Loc, Object, Site, Tid};
use std::cell::UnsafeCell;
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything that is shared.
pub struct State {
    /// The clocks.
    pub analysis: Analysis,
    /// What each atomic location is, by number.
    pub locations: Vec<LocationInfo>,
    /// Mutexes and the like, by address and role.
    pub objects: HashMap<(usize, Role), Object>,
    /// Threads that were created and not yet joined, by handle.
    pub threads: HashMap<libc::pthread_t, Created>,
    /// Pairs of sites that are known to go wrong: asking again is not worth the time.
    pub told: HashSet<(Site, Site)>,
    /// Words whose new value may be seen before the function that writes it returns, and by whom.
    pub unfinished: Vec<(usize, Tid)>,
    /// Events go here as well.
    pub recorder: Option<crate::findings::Recorder>,
}

/// An atomic location.
#[derive(Clone, Copy, Default)]
pub struct LocationInfo {
    /// Where it is.
    pub address: usize,
    /// How many bytes it had when it was last accessed.
    pub size: u8,
    /// Does code that is not instrumented write it as well? Then nobody can tell what is stale, and it
    /// has the clock of a lock, see [`crate::rust_std`].
    pub foreign: bool,
    /// The next location in the same eight bytes.
    pub next: Loc,
}

/// What an object at some address is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Mutexes, spin locks, semaphores, guards: one clock.
    Lock,
    /// What readers of a read-write lock released.
    Readers,
    /// One of two generations of a barrier.
    Barrier(bool),
}

/// A thread as its creator knows it.
#[derive(Clone, Copy, Debug)]
pub struct Created {
    /// Its number.
    pub tid: Tid,
    /// Has it ended?
    pub ended: bool,
    /// Will nobody wait for it?
    pub detached: bool,
}

/// A lock that spins a little and then lets others run. Unlike those of the standard library it can be
/// taken in one process and given back in its child.
pub struct Lock {
    taken: AtomicBool,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: the state is reached through a guard only.
unsafe impl Sync for Lock {}

/// The state, locked.
pub struct Guard(());

static LOCK: Lock = Lock { taken: AtomicBool::new(false), state: UnsafeCell::new(None) };
static SETS: OnceLock<Sets> = OnceLock::new();
static TREE: OnceLock<CallTree> = OnceLock::new();
static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Locks the state. The caller must be marked busy, so that a signal handler does not try again.
#[inline]
pub fn lock() -> Guard {
    let mut tries = 0u32;
    while LOCK
        .taken
        .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        while LOCK.taken.load(Ordering::Relaxed) {
            tries += 1;
            if tries < 200 {
                std::hint::spin_loop();
            } else {
                // SAFETY: a system call without arguments.
                unsafe { libc::sched_yield() };
            }
        }
    }
    Guard(())
}

impl Deref for Guard {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        // SAFETY: the lock is held, and the state was made before anyone could take it.
        unsafe { (*LOCK.state.get()).as_ref().unwrap_unchecked() }
    }
}

impl DerefMut for Guard {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as above.
        unsafe { (*LOCK.state.get()).as_mut().unwrap_unchecked() }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        LOCK.taken.store(false, Ordering::Release);
    }
}

/// Gives back a lock whose guard was forgotten.
///
/// # Safety
/// The lock must be held, and nobody must have a guard.
pub unsafe fn unlock() {
    LOCK.taken.store(false, Ordering::Release);
}

/// Makes the state. Called once, before there is a second thread.
pub fn create(options: Options) {
    let state = State {
        analysis: Analysis::new(options.history_size),
        locations: vec![LocationInfo::default()],
        objects: HashMap::new(),
        threads: HashMap::new(),
        told: HashSet::new(),
        unfinished: Vec::new(),
        recorder: None,
    };
    let _ = OPTIONS.set(options);
    let _ = SETS.set(Sets::default());
    let _ = TREE.set(CallTree::default());
    // SAFETY: there is one thread.
    unsafe { *LOCK.state.get() = Some(state) };
}

/// Interned sets of epochs.
#[inline]
pub fn sets() -> &'static Sets {
    SETS.get_or_init(Sets::default)
}

/// Call stacks.
pub fn tree() -> &'static CallTree {
    TREE.get_or_init(CallTree::default)
}

/// What the user wants.
pub fn options() -> &'static Options {
    OPTIONS.get_or_init(Options::default)
}

impl State {
    /// The object at an address.
    pub fn object(&mut self, address: usize, role: Role) -> Object {
        let analysis = &mut self.analysis;
        *self.objects.entry((address, role)).or_insert_with(|| analysis.object())
    }

    /// The object at an address is no more.
    pub fn remove_object(&mut self, address: usize, role: Role) {
        if let Some(object) = self.objects.remove(&(address, role)) {
            self.analysis.remove_object(object);
            if let Some(recorder) = &mut self.recorder {
                recorder.record(&Event::RemoveObject { object });
            }
        }
    }
}

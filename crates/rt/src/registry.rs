//! What is shared and has no lock of its own: threads, mutexes and the like, and what is told to others.

use crate::locked_location::Lock;
use crate::options::Options;
use crate::thread::{CallTree, Thread};
use clocks::analysis::Numbers;
use clocks::history::Limit;
use clocks::location::{Location, Settings};
use clocks::sets::Sets;
use clocks::thread::{Population, Synchroniser};
use clocks::trace::Event;
use clocks::{Loc, Object, Site, Tid};
use std::cell::UnsafeCell;
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Everything that is shared and has no lock of its own.
pub struct State {
    /// Threads that ended.
    pub population: Population,
    /// Threads that run.
    pub running: Vec<*mut Thread>,
    /// Threads that were created and not yet joined, by handle.
    pub threads: HashMap<libc::pthread_t, Created>,
    /// The numbers of atomic locations.
    pub location_numbers: Numbers,
    /// Mutexes and the like, by address and role.
    objects: HashMap<(usize, Role), (Object, Synchroniser)>,
    object_numbers: Numbers,
    /// Pairs of sites that are known to go wrong: asking again is not worth the time.
    pub told: HashSet<(Site, Site)>,
    /// Words whose new value may be seen before the function that writes it returns, and by whom.
    pub unfinished: Vec<(usize, Tid)>,
    /// Events go here as well.
    pub recorder: Option<crate::findings::Recorder>,
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
    /// What was written to a pipe, a socket and the like.
    Channel,
}

/// A thread as its creator knows it.
#[derive(Clone, Debug)]
pub struct Created {
    /// Its number.
    pub tid: Tid,
    /// What it knew at its end.
    pub ended: Option<clocks::thread::Thread>,
    /// Will nobody wait for it?
    pub detached: bool,
}

/// The state behind its lock.
struct Shared {
    lock: Lock,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: the state is reached through a guard only.
unsafe impl Sync for Shared {}

/// The state, locked.
pub struct Guard(());

static STATE: Shared = Shared { lock: Lock::new(), state: UnsafeCell::new(None) };
static RECORDING: AtomicBool = AtomicBool::new(false);
static HISTORY: AtomicUsize = AtomicUsize::new(0);
static SETS: OnceLock<Sets> = OnceLock::new();
static TREE: OnceLock<CallTree> = OnceLock::new();
static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Locks the state. The caller must be marked busy, so that a signal handler does not try again.
#[inline]
pub fn lock() -> Guard {
    STATE.lock.take(|| false);
    Guard(())
}

/// Is everything recorded? Then everything is told under this lock, in one order.
#[inline(always)]
pub fn recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

impl Deref for Guard {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        // SAFETY: the lock is held, and the state was made before anyone could take it.
        unsafe { (*STATE.state.get()).as_ref().unwrap_unchecked() }
    }
}

impl DerefMut for Guard {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as above.
        unsafe { (*STATE.state.get()).as_mut().unwrap_unchecked() }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        STATE.lock.give_back();
    }
}

/// Gives back a lock whose guard was forgotten.
///
/// # Safety
/// The lock must be held, and nobody must have a guard.
pub unsafe fn unlock() {
    STATE.lock.give_back();
}

/// Makes the state. Called once, before there is a second thread.
pub fn create(options: Options) {
    let state = State {
        population: Population::default(),
        running: Vec::new(),
        threads: HashMap::new(),
        location_numbers: Numbers::from(1),
        objects: HashMap::new(),
        object_numbers: Numbers::default(),
        told: HashSet::new(),
        unfinished: Vec::new(),
        recorder: None,
    };
    HISTORY.store(options.history_size, Ordering::Relaxed);
    RECORDING.store(options.record.is_some(), Ordering::Relaxed);
    let _ = SETS.set(Sets::at_most(options.reader_sets));
    let _ = OPTIONS.set(options);
    let _ = TREE.set(CallTree::default());
    // SAFETY: there is one thread.
    unsafe { *STATE.state.get() = Some(state) };
}

/// What is the same for all locations.
#[inline(always)]
pub fn settings() -> Settings {
    Settings { limit: Limit(HISTORY.load(Ordering::Relaxed)), predict: true }
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

/// Bytes that the program says may be raced for: from, to.
static TOLERATED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Races for these bytes are not reported.
pub fn tolerate(address: usize, bytes: usize) {
    let mut tolerated = TOLERATED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    tolerated.push((address, address.saturating_add(bytes)));
}

/// Keeps others from tolerating, as long as what is returned lives.
pub fn hold_tolerated() -> impl Sized {
    TOLERATED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Are races for these bytes not reported?
pub fn is_tolerated(address: usize, bytes: usize) -> bool {
    let tolerated = TOLERATED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    tolerated.iter().any(|&(from, to)| from <= address && address + bytes <= to)
}

/// What the user wants.
pub fn options() -> &'static Options {
    OPTIONS.get_or_init(Options::default)
}

impl State {
    /// Records an event, if events are recorded.
    #[inline]
    pub fn record(&mut self, event: &Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(event);
        }
    }

    /// A thread ended and nobody waits for it.
    pub fn retire(&mut self, thread: clocks::thread::Thread) {
        self.record(&Event::Retire { tid: thread.tid() });
        self.population.end(thread);
    }

    /// Orders a thread and the object at an address.
    pub fn edge(
        &mut self,
        thread: &mut clocks::thread::Thread,
        address: usize,
        role: Role,
        edge: Edge,
    ) {
        let State { objects, object_numbers, recorder, .. } = self;
        let (object, synchroniser) = objects.entry((address, role)).or_insert_with(|| {
            if let Some(recorder) = recorder {
                recorder.record(&Event::Object);
            }
            (object_numbers.take(), Synchroniser::default())
        });
        let (tid, object) = (thread.tid(), *object);
        let event = match edge {
            Edge::Release => {
                thread.release(synchroniser);
                Event::Release { tid, object }
            }
            Edge::Acquire => {
                thread.acquire(synchroniser);
                Event::Acquire { tid, object }
            }
        };
        self.record(&event);
    }

    /// The clock of a foreign word learns what was published at its location before.
    pub fn hand_over(&mut self, loc: Loc, location: &mut Location, address: usize) {
        let State { objects, object_numbers, recorder, .. } = self;
        let (object, synchroniser) = objects.entry((address, Role::Lock)).or_insert_with(|| {
            if let Some(recorder) = recorder {
                recorder.record(&Event::Object);
            }
            (object_numbers.take(), Synchroniser::default())
        });
        location.publish_to(synchroniser);
        let object = *object;
        self.record(&Event::Publish { loc, object });
    }

    /// The object at an address is no more.
    pub fn remove_object(&mut self, address: usize, role: Role) {
        if let Some((object, _)) = self.objects.remove(&(address, role)) {
            self.object_numbers.give_back(object);
            self.record(&Event::RemoveObject { object });
        }
    }
}

/// How a thread and an object are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// What the thread did comes before what the object is acquired for.
    Release,
    /// The other way round.
    Acquire,
}

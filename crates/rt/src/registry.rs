//! What is shared and has no lock of its own: threads, mutexes and the like, and what is told to others.

use crate::locked_location::Lock;
use crate::options::Options;
use crate::thread::{CallTree, Thread};
use clocks::analysis::Numbers;
use clocks::hash::BuildMixer;
use clocks::history::Limit;
use clocks::location::Settings;
use clocks::sets::Sets;
use clocks::thread::Population;
use clocks::trace::Event;
use clocks::{Site, Tid};
use std::cell::UnsafeCell;
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
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
    /// The numbers of mutexes and the like, in recordings.
    pub object_numbers: Numbers,
    /// Pairs of sites that are known to go wrong: asking again is not worth the time.
    pub told: HashSet<(Site, Site), BuildMixer>,
    /// Words whose new value may be seen before the function that writes it returns, and by whom.
    pub unfinished: Vec<(usize, Tid)>,
    /// Events go here as well.
    pub recorder: Option<crate::findings::Recorder>,
    /// How often the lock was taken.
    turns: u64,
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

/// How a thread came to be.
#[derive(Clone, Copy, Debug)]
pub struct Creation {
    /// Its first epoch: numbers are used again, epochs are not.
    pub since: u64,
    /// By whom.
    pub by: Tid,
    /// Where.
    pub site: Site,
}

/// The creations of all threads, by number and in order.
static CREATIONS: Mutex<Vec<Vec<Creation>>> = Mutex::new(Vec::new());
/// How many threads of one number are remembered.
const REMEMBERED: usize = 64;

/// A thread was created.
pub fn created(tid: Tid, creation: Creation) {
    let mut all = CREATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let tid = usize::from(tid);
    if all.len() <= tid {
        all.resize(tid + 1, Vec::new());
    }
    if all[tid].len() == REMEMBERED {
        all[tid].remove(0);
    }
    all[tid].push(creation);
}

/// How the thread came to be that had this number in some epoch. Without an epoch, there must have been one only.
pub fn creation(tid: Tid, epoch: Option<u64>) -> Option<Creation> {
    let all = CREATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let of_number = all.get(usize::from(tid))?;
    match (epoch, &of_number[..]) {
        (Some(epoch), creations) => {
            creations.iter().rev().find(|creation| creation.since <= epoch).copied()
        }
        (None, [only]) => Some(*only),
        _ => None,
    }
}

/// Keeps others from creating threads, as long as what is returned lives.
pub fn hold_creations() -> impl Sized {
    CREATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
static QUICK: AtomicBool = AtomicBool::new(false);
static HISTORY: AtomicU16 = AtomicU16::new(0);
static SETS: OnceLock<Sets> = OnceLock::new();
static TREE: OnceLock<CallTree> = OnceLock::new();
static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Locks the state. The caller must be marked busy, so that a signal handler does not try again.
#[inline]
pub fn lock() -> Guard {
    STATE.lock.take(|| false);
    let mut state = Guard(());
    state.turns += 1;
    state
}

/// How often anyone took a lock that all threads share: the state's, and that of the call stacks.
pub fn shared_turns() -> u64 {
    lock().turns + tree().turns()
}

/// Is everything recorded? Then everything is told under this lock, in one order.
#[inline(always)]
pub fn recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// May accesses that nothing can be wrong with be [quick](crate::quick)? Not while everything is recorded.
#[inline(always)]
pub fn is_quick() -> bool {
    QUICK.load(Ordering::Relaxed)
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
        object_numbers: Numbers::default(),
        told: HashSet::default(),
        unfinished: Vec::new(),
        recorder: None,
        turns: 0,
    };
    let most = u16::try_from(options.history_size).unwrap_or(u16::MAX);
    HISTORY.store(most, Ordering::Relaxed);
    RECORDING.store(options.record.is_some(), Ordering::Relaxed);
    QUICK.store(options.quick && options.record.is_none(), Ordering::Relaxed);
    let _ = SETS.set(Sets::at_most(options.reader_sets));
    let _ = OPTIONS.set(options);
    let _ = TREE.set(CallTree::default());
    // SAFETY: there is one thread.
    unsafe { *STATE.state.get() = Some(state) };
}

/// What is the same for all locations.
#[inline(always)]
pub fn settings() -> Settings {
    Settings { limit: Limit::new(usize::from(HISTORY.load(Ordering::Relaxed))), predict: true }
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
}

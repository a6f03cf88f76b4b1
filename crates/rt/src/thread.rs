//! What the runtime knows of the thread it runs in, and call stacks.
//!
//! Instrumented code announces every call, so a thread has a shadow stack. A place in the program with
//! the calls that led there is a node of one tree of calls ([`CallTree`]), and its number is a
//! [`Site`]. Frames left by `longjmp` or `pthread_exit` are recognised by their stack pointer and
//! dropped at the next call.

use crate::locked_location::{Held, Place};
use crate::private::Window;
use clocks::Order;
use clocks::hash::BuildMixer;
use clocks::shadow::{Epoch, Me};
use clocks::{Site, Tid};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How many frames are kept; deeper ones are not shown.
const FRAMES: usize = 1 << 16;
const CACHE: usize = 1 << 11;
/// How many loads are remembered that could be repeated; half of them of words of eight bytes.
const LOADS: usize = 16;
/// How many pairs of sites that were told are remembered.
const TOLD: usize = 256;
/// How many callers of `free` are remembered.
const GIVERS: usize = 64;

/// Marks the address of an atomic access, where the numbers of places are cached.
const ATOMIC: usize = 1 << 63;
/// Marks the caller of a function that is to be recognised as long as it does not return, see [`Thread::expect_fence`].
const MARKED: usize = 1 << 63;
/// Marks the number of a place after which there is a fence in assembly.
const FENCED: Site = 1 << 31;

/// No frame's number: it was not asked for yet.
const UNNAMED: Site = Site::MAX;

/// A thread.
pub struct Thread {
    /// Its number.
    pub tid: Tid,
    /// Is it moving clocks? Nobody else touches its own then.
    pub inside: AtomicBool,
    /// Its clocks.
    pub clocks: clocks::thread::Thread,
    /// Its epoch, ready to be compared with those in cells.
    pub epoch: Epoch,
    /// The same, for plain accesses that need not be looked at twice; nobody's while recording, which
    /// wants them all.
    pub quick: Epoch,
    /// Memory that it need not share.
    pub window: Window,
    /// Is it inside the runtime? Then signal handlers are not analysed.
    pub busy: bool,
    /// Is it choosing who goes on? What it waits for then is nobody's business.
    pub deciding: bool,
    /// How many `fencepost_ignore_begin` are open.
    pub ignored: u32,
    /// Did it pass a fence in assembly since its last atomic access?
    pub fence_is_due: bool,
    /// Before which accesses only, if not before all.
    fence_before: Option<&'static [usize]>,
    /// How many functions there were then.
    fence_depth: usize,
    /// What is known of that, by the accesses before.
    fences_known: Vec<(usize, &'static [usize])>,
    /// Was it chosen to go on for the access that it is about to make?
    pub has_turn: bool,
    /// Loads that could as well not happen again.
    loads: [Load; LOADS],
    /// Pairs of sites that were told.
    told: [(Site, Site); TOLD],
    /// Sets of readers that are known to have this thread in its current epoch.
    pub reader_sets: [u64; 16],
    /// Are there any?
    pub has_reader_sets: bool,
    /// How often its last load was repeated, for schedules.
    pub repeats: u32,
    /// Where that was.
    pub last_pc: usize,
    /// Read-write locks that it holds for writing.
    pub write_locked: Vec<usize>,
    /// Locks that it holds, and where it took them.
    pub locks: Vec<(usize, Site)>,
    /// The fiber that it runs, if the program said; 0 otherwise.
    pub fiber: usize,
    /// Who called `operator delete`, which is about to call `free`.
    pub giver: Option<Giver>,
    /// Callers of `free` and whether they are instrumented.
    givers: [(usize, bool); GIVERS],
    frames: Vec<Frame>,
    depth: usize,
    /// The number of the innermost frame, 0 outside of all, or [`UNNAMED`].
    here: Site,
    cache: Box<[(Site, usize, Site); CACHE]>,
    /// How often something was thrown out there.
    turn: usize,
}

/// A call that gives memory back.
#[derive(Clone, Copy, Debug)]
pub struct Giver {
    /// Where it is called.
    pub pc: usize,
    /// The function that is called.
    pub callee: usize,
}

/// An access after which the thread did nothing that matters.
#[derive(Clone, Copy)]
struct Load {
    address: usize,
    place: Option<&'static Place>,
    /// The thread's time.
    time: u64,
    /// The number of the write that it read.
    version: u64,
    value: u64,
    size: u8,
    acquired: bool,
}

impl Load {
    const NONE: Load =
        Load { address: 0, place: None, time: 0, version: 0, value: 0, size: 0, acquired: false };
}

#[derive(Clone, Copy)]
struct Frame {
    caller: usize,
    stack: usize,
    /// The number of the frame before, if it was known when the call was made.
    parent: Site,
    /// Its own, once it is known.
    node: Site,
}

thread_local! {
    static CURRENT: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

/// The calling thread, as far as the runtime knows it.
///
/// Entry points call each other, and signal handlers come in between, so several of these may exist in
/// one thread at a time. That is why it is no reference: it makes one for each use, which ends with
/// the expression it is used in, or with the function it is handed to. Functions that are handed the
/// thread do not ask for it again. A signal handler that comes while such a function runs finds the
/// thread [`busy`](Thread::busy), which it sees through the pointer, and leaves it alone.
///
/// It stays on its thread: a pointer is neither `Send` nor `Sync`.
#[derive(Clone, Copy)]
pub struct Current(NonNull<Thread>);

impl Deref for Current {
    type Target = Thread;

    #[inline(always)]
    fn deref(&self) -> &Thread {
        // SAFETY: made by `enter` and not yet given up by `leave`, which is the last that a thread
        // does in the runtime; other threads do not touch it but for its clocks, while it waits for
        // them (`locked_location::alone`).
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Current {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Thread {
        // SAFETY: as above; and uses of other copies have ended, as `Current` says.
        unsafe { self.0.as_mut() }
    }
}

/// The calling thread, if it is known.
#[inline(always)]
pub fn current() -> Option<Current> {
    NonNull::new(CURRENT.get()).map(Current)
}

/// Makes a thread known. The caller enters it into the list of those that run.
pub fn enter(clocks: clocks::thread::Thread) -> *mut Thread {
    let tid = clocks.tid();
    let thread = Box::new(Thread {
        tid,
        inside: AtomicBool::new(false),
        clocks,
        epoch: Epoch::new(tid, 0),
        quick: Epoch::new(tid, 0),
        window: Window::default(),
        busy: true,
        deciding: false,
        ignored: 0,
        fence_is_due: false,
        fence_before: None,
        fence_depth: 0,
        fences_known: Vec::new(),
        has_turn: false,
        loads: [Load::NONE; LOADS],
        told: [(0, 0); TOLD],
        reader_sets: [0; 16],
        has_reader_sets: false,
        repeats: 0,
        last_pc: 0,
        write_locked: Vec::new(),
        locks: Vec::new(),
        fiber: 0,
        giver: None,
        givers: [(0, false); GIVERS],
        frames: Vec::with_capacity(64),
        depth: 0,
        here: 0,
        cache: vec![(0, 0, 0); CACHE].try_into().unwrap_or_else(|_| unreachable!("as many")),
        turn: 0,
    });
    let thread = Box::into_raw(thread);
    CURRENT.set(thread);
    // SAFETY: made just now.
    unsafe { (*thread).refresh() };
    thread
}

/// The thread ends.
pub fn leave() {
    let thread = CURRENT.replace(std::ptr::null_mut());
    if !thread.is_null() {
        // SAFETY: made by `enter`, and unreachable from now on.
        drop(unsafe { Box::from_raw(thread) });
        crate::pools::leave();
    }
}

impl Thread {
    /// The thread as shadow memory wants to know it.
    #[inline]
    pub fn me(&self) -> Me<'_> {
        Me { epoch: self.epoch, clock: self.clocks.vector() }
    }

    /// Could a load that finds this value as well not happen? No fence in assembly may follow it, which would be lost
    /// otherwise.
    #[inline(always)]
    pub fn repeated(&self, address: usize, size: u8, order: Order, value: u64) -> bool {
        let load = &self.loads[(address >> 2) % LOADS];
        load.address == address
            && load.time == self.clocks.time()
            && load.value == value
            && load.size == size
            && (load.acquired || !order.acquires())
            && load.place.is_some_and(|place| {
                place.settled() == Some(load.version) && place.address() == address
            })
    }

    /// A load from this location could as well not happen.
    #[inline(always)]
    pub fn remember(&mut self, held: &Held, address: usize, size: u8, acquired: bool) {
        self.loads[(address >> 2) % LOADS] = Load {
            address,
            place: Some(held.place()),
            time: self.clocks.time(),
            version: held.location.stamp().bits(),
            value: held.location.value(),
            size,
            acquired,
        };
    }

    /// Is it known that these two sites were told?
    #[inline]
    pub fn has_told(&self, pair: (Site, Site)) -> bool {
        self.told[told_slot(pair)] == pair
    }

    /// These two sites were told.
    pub fn tell(&mut self, pair: (Site, Site)) {
        self.told[told_slot(pair)] = pair;
    }

    /// A fence in assembly comes between an atomic access, which returns to `pc`, and its next, or one of several that the next
    /// may be. If it is one of several, that is so until the function returns: called again, it may come to them without a fence.
    /// So its frame is marked. A call that takes its place finds another caller there, and makes a new one.
    #[cold]
    pub fn expect_fence(&mut self, pc: usize) {
        self.fence_is_due = true;
        let known = self.fences_known.iter().find(|&&(before, _)| before == pc);
        let accesses = known.map(|&(_, accesses)| accesses).unwrap_or_else(|| {
            let accesses = crate::registry::tree().fences_before(pc);
            self.fences_known.push((pc, accesses));
            accesses
        });
        self.fence_before = None;
        if !accesses.is_empty() {
            match self.depth.checked_sub(1) {
                // Its number is known, because the access has one, so the caller is not asked for any more.
                Some(top) => self.frames[top].caller |= MARKED,
                // A function that does not say when it returns.
                None => self.fence_is_due = false,
            }
            (self.fence_before, self.fence_depth) = (Some(accesses), self.depth);
        }
        self.forget_loads();
    }

    /// Does a fence that may be due come before an access that returns to `pc`? It is not due any more.
    #[cold]
    pub fn take_fence(&mut self, pc: usize) -> bool {
        let due = std::mem::take(&mut self.fence_is_due);
        let Some(accesses) = self.fence_before.take() else { return due };
        due && accesses.contains(&pc) && self.is_marked(self.fence_depth)
    }

    /// Is the function at this depth the one whose frame was marked?
    fn is_marked(&self, depth: usize) -> bool {
        depth <= self.depth
            && depth.checked_sub(1).is_some_and(|index| self.frames[index].caller & MARKED != 0)
    }

    /// Loads are to be looked at again.
    pub fn forget_loads(&mut self) {
        self.loads = [Load::NONE; LOADS];
    }

    /// Plain accesses are to be looked at again. The caller holds the lock of the state.
    pub fn begin_epoch(&mut self) {
        self.clocks.begin_epoch();
        self.refresh();
    }

    /// Looks at its clocks again. The caller holds the lock of the state or is inside, see [`crate::locked_location`], so that no other
    /// thread moves them meanwhile and what it says of that in `quick` is not lost.
    #[inline]
    pub fn refresh(&mut self) {
        let epoch = self.clocks.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.quick = if crate::registry::recording() { Epoch::NOBODY } else { epoch };
            if self.has_reader_sets {
                (self.reader_sets, self.has_reader_sets) = ([0; 16], false);
            }
        }
    }

    /// A function was called from `caller`; `stack` is where the stack ends now.
    #[inline]
    pub fn call(&mut self, caller: usize, stack: usize) {
        while self.depth > 0 && self.frames[self.depth - 1].stack <= stack {
            self.return_();
        }
        let parent = self.here;
        let fresh = Frame { caller, stack, parent, node: UNNAMED };
        match self.frames.get_mut(self.depth) {
            // The same call once more, as in a loop: its number is known.
            Some(old) if parent != UNNAMED && old.caller == caller && old.parent == parent => {
                old.stack = stack;
            }
            Some(old) => *old = fresh,
            None if self.depth == FRAMES => return,
            None => self.frames.push(fresh),
        }
        self.here = self.frames[self.depth].node;
        self.depth += 1;
    }

    /// The function returns.
    #[inline]
    pub fn return_(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.here = self.depth.checked_sub(1).map_or(0, |top| self.frames[top].node);
    }

    /// Another stack is used from now on.
    pub fn forget_calls(&mut self) {
        (self.depth, self.here) = (0, 0);
    }

    /// The number of the place `pc` with the calls that led to it.
    #[inline(always)]
    pub fn site(&mut self, pc: usize) -> Site {
        let node = if self.here == UNNAMED { self.name_frames() } else { self.here };
        self.child(node, pc)
    }

    /// The same of an atomic access; does a fence in assembly follow?
    #[inline(always)]
    pub fn atomic_site(&mut self, pc: usize) -> (Site, bool) {
        let site = self.site(pc | ATOMIC);
        (site & !FENCED, site & FENCED != 0)
    }

    /// The same with the function that is called there.
    pub fn site_of_call(&mut self, giver: Giver) -> Site {
        let site = self.site(giver.pc);
        // Addresses on a stack are where calls return to, so one more than what is meant.
        self.child(site, giver.callee + 1)
    }

    /// Is the caller instrumented?
    pub fn trusts(&mut self, giver: Giver) -> bool {
        let slot = giver.pc % GIVERS;
        if self.givers[slot].0 != giver.pc {
            self.givers[slot] = (giver.pc, crate::modules::is_instrumented(giver.pc));
        }
        self.givers[slot].1
    }

    #[inline(always)]
    fn child(&mut self, node: Site, pc: usize) -> Site {
        let (parent, at, site) = self.cache[slot(node, pc)];
        if parent == node && at == pc { site } else { self.other_child(node, pc) }
    }

    /// The same, where it is not the one that was asked for last.
    #[inline(never)]
    fn other_child(&mut self, node: Site, pc: usize) -> Site {
        let slot = slot(node, pc);
        for slot in [slot ^ 1, slot ^ 2, slot ^ 3] {
            let (parent, at, site) = self.cache[slot];
            if parent == node && at == pc {
                return site;
            }
        }
        self.new_child(node, pc)
    }

    /// Gives the frames numbers that have none yet; that of the innermost. Most often it is the only one.
    #[inline(never)]
    fn name_frames(&mut self) -> Site {
        let top = self.depth.wrapping_sub(1);
        if let Some(&Frame { caller, parent, .. }) = self.frames.get(top)
            && parent != UNNAMED
        {
            self.here = self.child(parent, caller);
            self.frames[top].node = self.here;
            return self.here;
        }
        self.name_all_frames()
    }

    #[cold]
    fn name_all_frames(&mut self) -> Site {
        let known = self.frames[..self.depth].iter().rposition(|frame| frame.node != UNNAMED);
        let mut node = known.map_or(0, |index| self.frames[index].node);
        for index in known.map_or(0, |index| index + 1)..self.depth {
            self.frames[index].parent = node;
            node = self.child(node, self.frames[index].caller);
            self.frames[index].node = node;
        }
        self.here = node;
        node
    }

    #[cold]
    fn new_child(&mut self, parent: Site, pc: usize) -> Site {
        let node = KNOWN.get(parent, pc).unwrap_or_else(|| {
            let tree = crate::registry::tree();
            let mut node = tree.child(parent, pc & !ATOMIC);
            if pc & ATOMIC != 0 && tree.is_fenced(node) {
                node |= FENCED;
            }
            KNOWN.put(parent, pc, node);
            node
        });
        // An empty place, or each in turn: moving the others along would throw one out that is asked for next.
        let slot = slot(parent, pc);
        let places = [slot, slot ^ 1, slot ^ 2, slot ^ 3];
        let place = places.into_iter().find(|&place| self.cache[place].2 == 0);
        let place = place.unwrap_or_else(|| {
            self.turn = self.turn.wrapping_add(1);
            places[self.turn % places.len()]
        });
        self.cache[place] = (parent, pc, node);
        node
    }
}

/// Where it is kept that a pair was told.
#[inline]
fn told_slot((site, missed): (Site, Site)) -> usize {
    (site.wrapping_mul(0x9e37_79b9) ^ missed.wrapping_mul(0x85eb_ca6b)) as usize
        >> (u32::BITS - TOLD.ilog2())
}

/// Where the number of a place is cached.
#[inline(always)]
fn slot(parent: Site, pc: usize) -> usize {
    mixed(parent, pc) >> (usize::BITS - CACHE.ilog2())
}

#[inline(always)]
fn mixed(parent: Site, pc: usize) -> usize {
    (pc ^ (parent as usize) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Numbers of places that some thread asked for, for the others, and for itself when its own cache has no more room: the tree has a
/// lock, and programs may use more places, over and over, than a thread's cache has.
struct KnownPlaces([Group; 1 << 14]);

/// Where a place may be. The second word of an entry says what it is if the first, which has it mixed in, agrees: two threads may
/// write an entry at the same time.
#[repr(align(64))]
struct Group([(AtomicU64, AtomicU64); 4]);

static KNOWN: KnownPlaces =
    KnownPlaces([const { Group([const { (AtomicU64::new(0), AtomicU64::new(0)) }; 4]) }; 1 << 14]);

impl KnownPlaces {
    fn group(&self, parent: Site, pc: usize) -> &[(AtomicU64, AtomicU64)] {
        // Mixed once more: who is thrown out of a thread's cache is not to meet the same others here.
        let mixed = mixed(parent, pc);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        &self.0[mixed >> (usize::BITS - self.0.len().ilog2())].0
    }

    fn check(pc: usize, word: u64) -> u64 {
        pc as u64 ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn get(&self, parent: Site, pc: usize) -> Option<Site> {
        let words = self.group(parent, pc).iter().map(|(check, word)| (check, word.load(Relaxed)));
        let mut places = words.filter(|&(check, word)| {
            word >> 32 == u64::from(parent) && check.load(Relaxed) == Self::check(pc, word)
        });
        places.next().map(|(_, word)| word as Site).filter(|&site| site != 0)
    }

    fn put(&self, parent: Site, pc: usize, node: Site) {
        let group = self.group(parent, pc);
        let word = u64::from(parent) << 32 | u64::from(node);
        let empty = group.iter().find(|(_, word)| word.load(Relaxed) == 0);
        let (check, entry) = empty.unwrap_or(&group[node as usize % group.len()]);
        entry.store(word, Relaxed);
        check.store(Self::check(pc, word), Relaxed);
    }
}

/// All call stacks seen.
#[derive(Default)]
pub struct CallTree(Mutex<Tree>);

#[derive(Default)]
struct Tree {
    children: HashMap<(Site, usize), Site, BuildMixer>,
    nodes: Vec<(Site, usize)>,
    /// Atomic accesses, and whether a fence in assembly follows.
    fenced: HashMap<Site, bool, BuildMixer>,
    /// Addresses that atomic accesses return to, and the accesses before which there is one if they come next.
    fences_before: HashMap<usize, &'static [usize], BuildMixer>,
    /// How often the lock was taken to look for a place.
    turns: u64,
}

impl CallTree {
    /// The node for `pc`, called from `parent`; 0 is the root.
    pub fn child(&self, parent: Site, pc: usize) -> Site {
        let mut tree = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        tree.turns += 1;
        if let Some(&node) = tree.children.get(&(parent, pc)) {
            return node;
        }
        tree.nodes.push((parent, pc));
        let node = tree.nodes.len() as Site;
        tree.children.insert((parent, pc), node);
        node
    }

    /// How often the lock was taken to look for a place.
    pub fn turns(&self) -> u64 {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).turns
    }

    /// Does a fence in assembly follow the atomic access at a site, before all accesses that may come next or before some?
    pub fn is_fenced(&self, site: Site) -> bool {
        let tree = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&known) = tree().fenced.get(&site) {
            return known;
        }
        let stack = self.stack(site);
        let fenced = if crate::assembly::fence_follows(&stack, &crate::entry_at) {
            if let Some(&pc) = stack.first() {
                tree().fences_before.insert(pc, &[]);
            }
            true
        } else {
            stack.first().is_some_and(|&pc| !self.fences_before(pc).is_empty())
        };
        tree().fenced.insert(site, fenced);
        fenced
    }

    /// Before which accesses there is a fence in assembly if they come next after one that returns to `pc`; none if before
    /// all.
    pub fn fences_before(&self, pc: usize) -> &'static [usize] {
        let tree = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&known) = tree().fences_before.get(&pc) {
            return known;
        }
        let found = crate::assembly::fences_before(pc, &crate::entry_at);
        // As many as there are places in the program, and kept as long as it runs.
        let found: &'static [usize] = Vec::leak(found);
        tree().fences_before.insert(pc, found);
        found
    }

    /// Keeps others from looking or adding, as long as what is returned lives.
    pub fn hold(&self) -> impl Sized + '_ {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The program counters of a site, innermost first.
    pub fn stack(&self, site: Site) -> Vec<usize> {
        let tree = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut stack = Vec::new();
        let mut node = site;
        while node != 0 {
            let (parent, pc) = tree.nodes[node as usize - 1];
            stack.push(pc);
            node = parent;
        }
        stack
    }

    /// All nodes, each with its parent, in order of their numbers.
    pub fn all(&self) -> Vec<(Site, usize)> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).nodes.clone()
    }

    /// The innermost program counter of a site.
    pub fn pc(&self, site: Site) -> usize {
        let tree = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        site.checked_sub(1).map_or(0, |index| tree.nodes[index as usize].1)
    }
}

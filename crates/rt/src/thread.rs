//! What the runtime knows of the thread it runs in, and call stacks.
//!
//! Instrumented code announces every call, so a thread has a shadow stack. A place in the program with
//! the calls that led there is a node of one tree of calls ([`CallTree`]), and its number is a
//! [`Site`]. Frames left by `longjmp` or `pthread_exit` are recognised by their stack pointer and
//! dropped at the next call.

use clocks::shadow::Epoch;
use clocks::vector::Vector;
use clocks::{Site, Tid};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Mutex;

/// How many frames are kept; deeper ones are not shown.
const FRAMES: usize = 1 << 16;
const CACHE: usize = 1 << 10;

/// A thread.
pub struct Thread {
    /// Its number.
    pub tid: Tid,
    /// Its epoch, ready to be compared with those in cells.
    pub epoch: Epoch,
    /// The same, for plain accesses that need not be looked at twice; nobody's while recording, which
    /// wants them all.
    pub quick: Epoch,
    /// Is it inside the runtime? Then signal handlers are not analysed.
    pub busy: bool,
    /// Is it choosing who goes on? What it waits for then is nobody's business.
    pub deciding: bool,
    /// How many `fencepost_ignore_begin` are open.
    pub ignored: u32,
    /// Its own copy of its vector clock, read without the lock.
    pub clock: Vector,
    /// Sets of readers that are known to have this thread in its current epoch.
    pub reader_sets: [u64; 16],
    /// How often its last load was repeated, for schedules.
    pub repeats: u32,
    /// Where that was.
    pub last_pc: usize,
    /// Read-write locks that it holds for writing.
    pub write_locked: Vec<usize>,
    frames: Vec<Frame>,
    depth: usize,
    cache: Vec<(Site, usize, Site)>,
}

#[derive(Clone, Copy)]
struct Frame {
    caller: usize,
    stack: usize,
    node: Site,
}

thread_local! {
    static CURRENT: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) };
}

/// The calling thread, if it is known.
#[inline(always)]
pub fn current() -> Option<&'static mut Thread> {
    let thread = CURRENT.get();
    // SAFETY: only this thread has the pointer, and never keeps two references across calls.
    unsafe { thread.as_mut() }
}

/// Makes a thread known, as number `tid`.
pub fn enter(tid: Tid) {
    let thread = Box::new(Thread {
        tid,
        epoch: Epoch::new(tid, 0),
        quick: Epoch::new(tid, 0),
        busy: true,
        deciding: false,
        ignored: 0,
        clock: Vector::default(),
        reader_sets: [0; 16],
        repeats: 0,
        last_pc: 0,
        write_locked: Vec::new(),
        frames: Vec::with_capacity(64),
        depth: 0,
        cache: Vec::new(),
    });
    CURRENT.set(Box::into_raw(thread));
}

/// The thread ends.
pub fn leave() {
    let thread = CURRENT.replace(std::ptr::null_mut());
    if !thread.is_null() {
        // SAFETY: made by `enter`, and unreachable from now on.
        drop(unsafe { Box::from_raw(thread) });
    }
}

impl Thread {
    /// Copies the clock that the analysis has for this thread.
    pub fn refresh(&mut self, state: &crate::state::State) {
        let clock = state.analysis.vector(self.tid);
        self.clock.assign(clock);
        let epoch = Epoch::new(self.tid, clock.get(self.tid as usize));
        if epoch != self.epoch {
            self.epoch = epoch;
            self.quick = match crate::state::options().record {
                None => epoch,
                Some(_) => Epoch::NOBODY,
            };
            self.reader_sets = [0; 16];
        }
    }

    /// A function was called from `caller`; `stack` is where the stack ends now.
    #[inline]
    pub fn call(&mut self, caller: usize, stack: usize) {
        while self.depth > 0 && self.frames[self.depth - 1].stack <= stack {
            self.depth -= 1;
        }
        let frame = Frame { caller, stack, node: 0 };
        if self.depth < self.frames.len() {
            self.frames[self.depth] = frame;
        } else if self.depth < FRAMES {
            self.frames.push(frame);
        } else {
            return;
        }
        self.depth += 1;
    }

    /// The function returns.
    #[inline]
    pub fn return_(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The number of the place `pc` with the calls that led to it.
    pub fn site(&mut self, pc: usize) -> Site {
        let known = self.frames[..self.depth].iter().rposition(|frame| frame.node != 0);
        let mut node = known.map_or(0, |index| self.frames[index].node);
        for index in known.map_or(0, |index| index + 1)..self.depth {
            node = self.child(node, self.frames[index].caller);
            self.frames[index].node = node;
        }
        self.child(node, pc)
    }

    fn child(&mut self, parent: Site, pc: usize) -> Site {
        if self.cache.is_empty() {
            self.cache = vec![(0, 0, 0); CACHE];
        }
        let slot = (pc ^ (pc >> 10) ^ (parent as usize).wrapping_mul(0x9e37_79b1)) % CACHE;
        let (cached_parent, cached_pc, cached) = self.cache[slot];
        if cached != 0 && cached_parent == parent && cached_pc == pc {
            return cached;
        }
        let node = crate::state::tree().child(parent, pc);
        self.cache[slot] = (parent, pc, node);
        node
    }
}

/// All call stacks seen.
#[derive(Default)]
pub struct CallTree(Mutex<Tree>);

#[derive(Default)]
struct Tree {
    children: HashMap<(Site, usize), Site>,
    nodes: Vec<(Site, usize)>,
}

impl CallTree {
    /// The node for `pc`, called from `parent`; 0 is the root.
    pub fn child(&self, parent: Site, pc: usize) -> Site {
        let mut tree = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&node) = tree.children.get(&(parent, pc)) {
            return node;
        }
        tree.nodes.push((parent, pc));
        let node = tree.nodes.len() as Site;
        tree.children.insert((parent, pc), node);
        node
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
